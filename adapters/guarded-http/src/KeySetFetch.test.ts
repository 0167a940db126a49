import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { certificateAuthority } from "../test/CertificateAuthority.ts"
import { answering, type Behaviour, dripping, endlessly, tlsReceiver } from "../test/HostileReceiver.ts"
import { fetchKeySet, KEY_SET_MAX_BYTES, KeySetInvalid } from "./KeySetFetch.ts"

const NAME = "id.example"
const authority = certificateAuthority("test authority")
const certified = authority.issue([NAME])

const options = {
  guard: {
    loopbackAllowed: false,
    isPublic: (address: string) => address === "127.0.0.1",
    resolve: () => Effect.succeed(["127.0.0.1"])
  },
  ca: authority.certificate,
  wholeLimitMs: 3000
}

const HEAD = "HTTP/1.1 200 OK\r\n"
const body = (content: string | Buffer, ...headers: ReadonlyArray<string>): Behaviour => {
  const bytes = Buffer.from(content)
  const head = ["HTTP/1.1 200 OK", `Content-Length: ${bytes.length}`, ...headers, "", ""].join("\r\n")
  return (socket) => void socket.write(Buffer.concat([Buffer.from(head), bytes]))
}
const KEYS = '{"keys":[{"kty":"EC","kid":"k1"}],"other":1}'
const padded = (bytes: number) => KEYS.padEnd(bytes, " ")

const fetchFrom = (behave: Behaviour, limits: { readonly wholeLimitMs?: number } = {}) =>
  Effect.gen(function* () {
    const receiver = yield* tlsReceiver(certified, behave)
    const result = yield* fetchKeySet({ ...options, ...limits })(
      `https://${NAME}:${receiver.port}/jwks?a=1`
    ).pipe(
      Effect.map(({ keys }) => JSON.stringify(keys)),
      Effect.catch((error) => Effect.succeed(error instanceof KeySetInvalid ? error.reason : error._tag))
    )
    while (receiver.seen.open > 0) yield* Effect.sleep(5)
    return { result, seen: receiver.seen }
  })

describe("fetchKeySet", () => {
  it.live("asks for the path and query, without a body", () =>
    Effect.gen(function* () {
      const { result, seen } = yield* fetchFrom(body(KEYS))
      assert.strictEqual(result, '[{"kty":"EC","kid":"k1"}]')
      const [line, ...headers] = seen.requests[0]!.head.toLowerCase().split("\r\n")
      assert.strictEqual(line, "get /jwks?a=1 http/1.1")
      assert.includeMembers(headers, ["accept: application/json", "connection: close"])
      assert.deepStrictEqual(seen.serverNames, [NAME])
    })
  )

  const rows: Readonly<Record<string, readonly [Behaviour, string, { readonly wholeLimitMs: number }?]>> = {
    "no keys": [body('{"keys":[]}'), "[]"],
    "the largest": [body(padded(KEY_SET_MAX_BYTES)), '[{"kty":"EC","kid":"k1"}]'],
    "one byte more": [body(padded(KEY_SET_MAX_BYTES + 1)), "too_large"],
    "an endless body": [
      (socket) => {
        socket.write(`${HEAD}\r\n`)
        endlessly(socket, "x".repeat(1000))
      },
      "too_large"
    ],
    "a body that drips": [
      (socket) => {
        socket.write(`${HEAD}Content-Length: 1000\r\n\r\n`)
        dripping(socket, " ")
      },
      "timeout",
      { wholeLimitMs: 300 }
    ],
    silence: [() => undefined, "timeout", { wholeLimitMs: 200 }],
    "a body that is cut off": [
      (socket) => void socket.end(`${HEAD}Content-Length: 100\r\n\r\n${KEYS}`),
      "cut_off"
    ],
    "a redirect": [
      answering("HTTP/1.1 302 X", "Location: https://id.example/other", "Content-Length: 0", "", ""),
      "status"
    ],
    "not found": [answering("HTTP/1.1 404 X", `Content-Length: ${KEYS.length}`, "", KEYS), "status"],
    "no content": [answering("HTTP/1.1 204 X", "", ""), "status"],
    compressed: [body(gzipSync(KEYS), "Content-Encoding: gzip"), "malformed"],
    "no JSON": [body("<html>"), "malformed"],
    "a list": [body("[]"), "malformed"],
    "keys that are no list": [body('{"keys":{}}'), "malformed"],
    "a key that is no object": [body('{"keys":["k1"]}'), "malformed"],
    "keys inherited": [body('{"__proto__":{"keys":[]}}'), "malformed"],
    "keys twice": [body('{"keys":[],"keys":[]}'), "malformed"],
    "a byte order mark": [body(`\ufeff${KEYS}`), "malformed"],
    nothing: [body(""), "malformed"]
  }
  for (const [title, [behave, expected, limits]] of Object.entries(rows)) {
    it.live(`${title}: ${expected}`, () =>
      Effect.map(fetchFrom(behave, limits), ({ result }) => assert.strictEqual(result, expected))
    )
  }

  it.live("is guarded as webhooks are", () =>
    Effect.gen(function* () {
      for (const [resolve, url] of [
        [() => Effect.succeed(["127.0.0.2"]), "https://id.example:8443/"],
        [() => Effect.die("asked"), "https://127.0.0.1:8443/"],
        [() => Effect.die("asked"), "http://id.example/"]
      ] as const) {
        const guard = { ...options.guard, resolve }
        const refused = yield* Effect.flip(fetchKeySet({ ...options, guard })(url))
        assert.strictEqual(refused._tag, "TargetRefused")
      }
    })
  )

  it.live("is limited in time where its caller may not be interrupted", () =>
    Effect.gen(function* () {
      const { result } = yield* Effect.uninterruptible(fetchFrom(() => undefined, { wholeLimitMs: 200 }))
      assert.strictEqual(result, "timeout")
    })
  )
})
