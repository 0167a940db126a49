import { assert, describe, it } from "@effect/vitest"
import { dnsResolve } from "@svc/guarded-http/NameResolver"
import { isPublicAddress } from "@svc/guarded-http/PublicAddress"
import { certificateAuthority } from "@svc/guarded-http/test/CertificateAuthority"
import { answering, plainReceiver, tlsReceiver } from "@svc/guarded-http/test/HostileReceiver"
import { type NameAnswer, nameServer, type RecordType } from "@svc/guarded-http/test/NameServer"
import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import { Effect, Layer } from "effect"
import { awaited, ENDPOINTS, endpointsOf, type ShownDelivery, TEST_TIMEOUT_MS } from "./DeliveringService.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

const NAME = "hooks.example"
/** Stands for the one public address; every other is what it is. */
const PUBLIC = "127.0.0.1"
const TRAP = "127.0.0.2"

const authority = certificateAuthority("test authority")
const certified = authority.issue([NAME])
const ok = answering("HTTP/1.1 204 X", "", "")

/** A service whose webhooks go by this name server, to the one public address alone. */
const startGuarded = Effect.fnUntraced(function* (
  answerTo: (question: { readonly name: string; readonly type: RecordType }) => NameAnswer
) {
  const names = yield* nameServer(answerTo)
  const webhookTransport = WebhookTransportHttp.layer({
    loopbackAllowed: false,
    resolve: dnsResolve({ servers: [names.address] }),
    isPublic: (address) => address === PUBLIC || isPublicAddress(address),
    ca: authority.certificate
  })
  const { tenant } = yield* startService({ webhookTransport, webhookLoopback: false, working: Layer.empty })
  return { names, tenant, endpoints: endpointsOf(tenant) }
})

/** Targets that no deployment takes, by what is wrong with them. */
const REFUSED: Readonly<Record<string, ReadonlyArray<string>>> = {
  "a loopback, private, link-local, metadata, CGNAT, multicast, unspecified or reserved address": [
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.0.1:8443/",
    "https://169.254.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://100.64.0.1/",
    "https://224.0.0.1/",
    "https://0.0.0.0/",
    "https://255.255.255.255/",
    "https://240.0.0.1/",
    "https://[::]/",
    "https://[fe80::1]/",
    "https://[fd00::1]/",
    "https://[ff02::1]/",
    "https://[fd00:ec2::254]/"
  ],
  "a public address too": ["https://93.184.215.14/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/"],
  "a decimal, octal, hexadecimal, short or full-width form": [
    "https://2130706433/",
    "https://2852039166/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0xa9fea9fe/",
    "https://127.1/",
    "https://１２７.0.0.1/",
    "https://①②⑦.0.0.1/",
    "https://127。0。0。1/",
    "https://%31%32%37.0.0.1/"
  ],
  "an IPv4 address within IPv6": [
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b:1::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/"
  ],
  "a trailing dot, user info, a single label or an odd host": [
    "https://hooks.example./",
    "https://127.0.0.1./",
    "https://localhost./",
    "https://user@hooks.example/",
    "https://user:password@hooks.example/",
    "https://hooks.example@169.254.169.254/",
    "https://hooks.example%40169.254.169.254/",
    "https://hooks.example\\@169.254.169.254/",
    "https://hooks/",
    "https://metadata/",
    "https://bücher.example/",
    "https://hooks%2eexample/",
    "https://hooks..example/"
  ],
  "another scheme, port or form": [
    "http://hooks.example/",
    "ftp://hooks.example/",
    "javascript:alert(1)//hooks.example",
    "file:///etc/passwd",
    "//hooks.example/",
    "hooks.example",
    "https:hooks.example/",
    "https://hooks.example:22/",
    "https://hooks.example:80/",
    "https://hooks.example:0/",
    "https://hooks.example:65536/",
    "https://hooks.example/#x",
    " https://hooks.example/",
    "https://hooks.example/\t",
    "https://hooks.exa\nmple/"
  ]
}

/** What loopback is, where it is not allowed. */
const LOOPBACK = [
  "http://localhost:8080/",
  "https://localhost/",
  "https://127.0.0.1/",
  "https://127.0.0.53/",
  "https://[::1]/"
]

/** What is no target of any form. */
const INVALID: ReadonlyArray<unknown> = [
  "",
  `https://hooks.example/${"a".repeat(2048)}`,
  "https://hooks.example/\u0000",
  7,
  null,
  ["https://hooks.example/"]
]

/** What a name answers, and whether it resolves to anything at all. */
const NAMES: Readonly<Record<string, Partial<Record<RecordType, NameAnswer>>>> = {
  "two-faced.example": { A: [PUBLIC, "10.0.0.1"] },
  "six-faced.example": { A: [PUBLIC], AAAA: ["fd00::1"] },
  "loopback.example": { A: [TRAP] },
  "loopback6.example": { AAAA: ["::1"] },
  "a.localhost": { A: [TRAP] },
  "mapped.example": { AAAA: ["::ffff:7f00:1"] },
  "metadata.example": { A: ["169.254.169.254"] },
  "nat64.example": { AAAA: ["64:ff9b::7f00:1"] },
  "empty.example": {},
  "absent.example": { A: "NXDOMAIN", AAAA: "NXDOMAIN" },
  "failing.example": { A: "SERVFAIL", AAAA: "SERVFAIL" }
}

/** What a good name comes to resolve to, and how an attempt then fails. */
const EVIL: ReadonlyArray<readonly [string, Partial<Record<RecordType, NameAnswer>>, string]> = [
  ["loopback", { A: [TRAP] }, "target_refused"],
  ["public and loopback", { A: [PUBLIC, TRAP] }, "target_refused"],
  ["private", { A: ["10.0.0.1"] }, "target_refused"],
  ["private, at last", { A: [PUBLIC, "192.168.0.1"] }, "target_refused"],
  ["metadata", { A: ["169.254.169.254"] }, "target_refused"],
  ["CGNAT", { A: ["100.64.0.1"] }, "target_refused"],
  ["multicast", { A: ["224.0.0.1"] }, "target_refused"],
  ["unspecified", { A: ["0.0.0.0"] }, "target_refused"],
  ["loopback of IPv6", { A: [PUBLIC], AAAA: ["::1"] }, "target_refused"],
  ["link-local", { AAAA: ["fe80::1"] }, "target_refused"],
  ["unique local", { AAAA: ["fd00::1"] }, "target_refused"],
  ["mapped", { AAAA: ["::ffff:7f00:2"] }, "target_refused"],
  ["compatible", { AAAA: ["::7f00:2"] }, "target_refused"],
  ["NAT64", { AAAA: ["64:ff9b::7f00:2"] }, "target_refused"],
  ["6to4", { AAAA: ["2002:7f00:2::1"] }, "target_refused"],
  ["nothing", {}, "target_refused"],
  ["gone", { A: "NXDOMAIN", AAAA: "NXDOMAIN" }, "target_refused"],
  ["a server that fails", { A: "SERVFAIL", AAAA: "SERVFAIL" }, "connection_failed"]
]

const codeOf = (tenant: Effect.Success<ReturnType<typeof startGuarded>>["tenant"], url: unknown) =>
  Effect.map(tenant.write("POST", ENDPOINTS, { url }), (answer) => {
    const { code, errors } = bodyOf(answer, 422)
    const pointers = (errors as ReadonlyArray<{ readonly pointer: string }> | undefined)?.map(
      ({ pointer }) => pointer
    )
    return { code, pointers }
  })

describe("a webhook target (part 8)", { timeout: TEST_TIMEOUT_MS }, () => {
  const refused = { code: "webhook_target_not_allowed", pointers: undefined }

  it.live("that is not allowed is answered 422 webhook_target_not_allowed, and nothing is stored", () =>
    Effect.gen(function* () {
      const { names, tenant } = yield* startGuarded(() => [PUBLIC])
      for (const url of [...Object.values(REFUSED).flat(), ...LOOPBACK]) {
        assert.deepStrictEqual(yield* codeOf(tenant, url), refused, url)
      }
      for (const url of INVALID) {
        const invalid = { code: "validation_failed", pointers: ["/url"] }
        assert.deepStrictEqual(yield* codeOf(tenant, url), invalid, String(url).slice(0, 40))
      }
      // Nobody was asked about a name of a bad form.
      assert.deepStrictEqual(names.questions, [])
      assert.deepStrictEqual((yield* tenant.get(ENDPOINTS)).data, [])
    })
  )

  it.live("that is neither public nor loopback is refused where loopback is allowed", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startService({ webhookLoopback: true })
      for (const url of Object.values(REFUSED).flat()) {
        assert.deepStrictEqual(yield* codeOf(tenant, url), refused, url)
      }
      assert.deepStrictEqual((yield* tenant.get(ENDPOINTS)).data, [])
    })
  )

  it.live("whose name has an address that is not public, or none, is 422, and nothing is stored", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startGuarded(({ name, type }) => NAMES[name]?.[type] ?? [])
      for (const name of Object.keys(NAMES)) {
        assert.deepStrictEqual(yield* codeOf(tenant, `https://${name}/`), refused, name)
      }
      assert.deepStrictEqual((yield* tenant.get(ENDPOINTS)).data, [])
    })
  )

  it.live(
    "whose name is rebound to a private address after its registration fails each attempt, without a connection",
    () =>
      Effect.gen(function* () {
        let now: Partial<Record<RecordType, NameAnswer>> = { A: [PUBLIC] }
        const { endpoints } = yield* startGuarded(({ type }) => now[type] ?? [])
        const receiver = yield* tlsReceiver(certified, ok)
        const trap = yield* tlsReceiver(certified, ok, { host: TRAP, port: receiver.port })
        const { id } = yield* endpoints.register(`https://${NAME}:${receiver.port}/hook`)
        const attempted = Effect.fnUntraced(function* () {
          const test: ShownDelivery = bodyOf(yield* endpoints.test(id), 201)
          const all = yield* awaited("the attempt", endpoints.deliveries(id), (deliveries) =>
            deliveries.some((one) => one.id === test.id && one.attempts.length === 1)
          )
          return all.find((one) => one.id === test.id)!.attempts[0]!
        })
        for (const [what, evil, error] of EVIL) {
          now = evil
          const { at, duration_ms, ...rest } = yield* attempted()
          assert.deepStrictEqual(rest, { error }, what)
        }
        assert.strictEqual(trap.seen.connections + receiver.seen.connections, 0)
        now = { A: [PUBLIC] }
        assert.strictEqual((yield* attempted()).status, 204)
        assert.strictEqual((yield* endpoints.read(id)).consecutive_failed_attempts, 0)
      })
  )

  it.live("whose name is rebound after the look-up is reached at the address that was checked", () =>
    Effect.gen(function* () {
      let asked = 0
      const { endpoints, tenant } = yield* startGuarded(({ type }) => {
        if (type === "AAAA") return []
        asked += 1
        // Once for the registration, once for the attempt.
        return asked <= 2 ? [PUBLIC] : [TRAP]
      })
      const receiver = yield* tlsReceiver(certified, ok)
      const trap = yield* tlsReceiver(certified, ok, { host: TRAP, port: receiver.port })
      const { id } = yield* endpoints.register(`https://${NAME}:${receiver.port}/hook`)
      yield* tenant.newMandate()
      yield* awaited("delivered", endpoints.deliveries(id), ([one]) => one?.state === "delivered")
      assert.deepStrictEqual([receiver.seen.connections, trap.seen.connections, asked], [1, 0, 2])
    })
  )

  it.live(
    "that redirects has a failed attempt, and the redirect is not followed (formbricks/formbricks#7877)",
    () =>
      Effect.gen(function* () {
        const { tenant } = yield* startService({ working: Layer.empty })
        const trap = yield* plainReceiver(ok)
        const endpoints = endpointsOf(tenant)
        let answer = ""
        const receiver = yield* plainReceiver((socket) => void socket.write(answer))
        const { id } = yield* endpoints.register(`http://127.0.0.1:${receiver.port}/`)
        const statuses = [301, 302, 303, 307, 308]
        for (const location of [
          "http://169.254.169.254/latest/meta-data/",
          `http://127.0.0.1:${trap.port}/`
        ]) {
          for (const status of statuses) {
            answer = `HTTP/1.1 ${status} X\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`
            bodyOf(yield* endpoints.test(id), 201)
            const [delivery] = yield* awaited(
              "the attempt",
              endpoints.deliveries(id),
              ([one]) => one?.state === "exhausted"
            )
            assert.strictEqual(delivery!.attempts[0]!.status, status)
          }
        }
        const attempts = 2 * statuses.length
        assert.strictEqual((yield* endpoints.read(id)).consecutive_failed_attempts, attempts)
        assert.deepStrictEqual([receiver.seen.connections, trap.seen.connections], [attempts, 0])
      })
  )
})
