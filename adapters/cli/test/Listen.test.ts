import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { verifyWebhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { ConfigProvider, Console, Effect, Fiber, Result } from "effect"
import { svc } from "../src/command/SvcCommand.ts"
import type { StartFault } from "../src/start/StartFault.ts"
import { startService, type Tenant } from "./ServiceUnderTest.ts"

const POLL = "20 millis"
const POLLS = 3000

/** A secret of nobody. */
const SECRET = `svc_wh_${randomBytes(32).toString("base64url")}`
const API_KEY = `svc_test_${randomBytes(32).toString("base64url")}`

const until = (what: string, isSo: () => boolean) =>
  Effect.gen(function* () {
    for (let poll = 0; poll < POLLS; poll++) {
      if (isSo()) return
      yield* Effect.sleep(POLL)
    }
    return yield* Effect.die(new Error(`in vain: ${what}`))
  })

const serve = (handle: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<Server>((resolve) => {
            const server = createServer((request, response) => {
              const chunks: Array<Buffer> = []
              request.on("data", (chunk) => chunks.push(chunk))
              request.on("end", () => handle(request, response, Buffer.concat(chunks)))
            }).listen(0, "127.0.0.1", () => resolve(server))
          })
      ),
      (server) =>
        Effect.promise(async () => {
          server.closeAllConnections()
          await new Promise((resolve) => server.close(resolve))
        })
    ),
    (server) => {
      const address = server.address()
      return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    }
  )

interface Received {
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

/** A receiver that answers with these statuses, then with 204. */
const startReceiver = (...statuses: ReadonlyArray<number>) => {
  const received: Array<Received> = []
  return Effect.map(
    serve(({ headers }, response, body) => {
      received.push({ headers, body })
      response.writeHead(statuses[received.length - 1] ?? 204, { location: "/elsewhere" }).end()
    }),
    (origin) => ({ url: `${origin}/webhooks`, received })
  )
}

const folderForTest = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-listen-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Runs `svc listen` with what it prints kept. */
const startListen = (env: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) => {
  const lines: Array<string> = []
  const notes: Array<string> = []
  const run = svc(["listen", ...words]).run.pipe(
    Effect.provideService(Console.Console, {
      ...console,
      log: (line: string) => void lines.push(line),
      error: (line: string) => void notes.push(line)
    }),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  ) as Effect.Effect<void, StartFault>
  return Effect.map(Effect.forkScoped(run), (fiber) => ({
    lines,
    notes,
    fiber,
    waiting: until("waiting for events", () => notes.includes("waiting for events"))
  }))
}

const faultOf = (env: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { fiber } = yield* startListen(env, ...words)
    const { exitCode, line } = yield* Effect.flip(Fiber.join(fiber))
    return [exitCode, line] as const
  })

const settingsOf = (tenant: Tenant, apiPort: number) => ({
  SVC_BASE_URL: `http://127.0.0.1:${apiPort}`,
  SVC_API_KEY: tenant.key,
  SVC_WEBHOOK_SECRET: SECRET
})

const bodiesOf = (received: ReadonlyArray<Received>) => received.map(({ body }) => JSON.parse(String(body)))

const assertSigned = ({ body, headers }: Received, secret: string) => {
  const header = String(headers["svc-signature"])
  const now = Math.floor(Date.now() / 1000)
  const verified = verifyWebhookSignature({ secret, header, body: new Uint8Array(body), now })
  assert.isTrue(Result.isSuccess(verified))
  assert.strictEqual(headers["svc-webhook-version"], "1")
  assert.strictEqual(headers["user-agent"], "svc-webhooks/1")
  assert.strictEqual(headers["content-type"], "application/json")
}

/** An API that does as the given steps say, one a request, and then stays at the last. */
const startFakeApi = (...steps: ReadonlyArray<(response: ServerResponse, url: URL) => void>) => {
  const asked: Array<URL> = []
  return Effect.map(
    serve((request, response) => {
      const url = new URL(request.url ?? "", "http://api.example")
      asked.push(url)
      steps[Math.min(asked.length, steps.length) - 1]!(response, url)
    }),
    (baseUrl) => ({ baseUrl, asked })
  )
}

const answers =
  (status: number, body: object, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body))

const breaksOff = (response: ServerResponse) => void response.destroy()

const ID = "00000000000000000000000000"

const eventOf = (digit: number) => ({
  mandate_id: `mnd_${ID}`,
  seq: digit,
  id: `evt_${ID.slice(1)}${digit}`,
  type: "mandate.revoked",
  occurred_at: "2026-12-01T00:00:00.000000000Z",
  source: "SERVICE_VERIFIED",
  mandate_version: digit,
  data: { reason: "no longer wanted" },
  hash: "h"
})

const page = (events: ReadonlyArray<number>, cursor: string, more = false) =>
  answers(200, { data: events.map(eventOf), has_more: more, next_cursor: cursor })

describe("svc listen", () => {
  it.live("forwards new events as webhooks and prints a line for each", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      yield* tenant.newMandate()
      const { received, url } = yield* startReceiver()
      const env = settingsOf(tenant, apiPort)
      const { lines, notes, waiting } = yield* startListen(env, "--forward-to", url)
      yield* waiting
      const { id } = yield* tenant.activeMandate()
      const authorization = yield* tenant.propose(id)
      yield* until("three webhooks", () => received.length >= 3 && lines.length >= 4)
      for (const one of received) assertSigned(one, SECRET)
      const { data: journal } = yield* tenant.get(`/v1/mandates/${id}/events`)
      const expected = [
        { type: "mandate.created", data: { mandate_id: id, state: "PENDING_APPROVAL", version: 1 } },
        { type: "mandate.approved", data: { mandate_id: id, state: "ACTIVE", version: 2 } },
        {
          type: "authorization.reserved",
          data: { authorization_id: authorization.id, mandate_id: id, version: 2 }
        }
      ].map((parts, at) => ({ id: journal[at].id, occurred_at: journal[at].occurred_at, ...parts }))
      assert.deepStrictEqual(bodiesOf(received), expected)
      assert.include(lines[0], SECRET)
      assert.deepStrictEqual(
        lines.slice(1).map((line) => line.split(/ +/u)),
        expected.map(({ data, occurred_at, type }) => [occurred_at, type, data.mandate_id, "204"])
      )
      assert.notInclude([...lines, ...notes].join(), tenant.key)
    })
  )

  it.live("starts with the first event or after a cursor if asked to, and can print JSON lines", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      const first = yield* tenant.newMandate()
      const { next_cursor } = yield* tenant.get("/v1/events")
      const second = yield* tenant.newMandate()
      const env = settingsOf(tenant, apiPort)
      for (const [words, mandates] of [
        [["--from-start"], [first.id, second.id]],
        [["--after", next_cursor], [second.id]]
      ] as const) {
        const { received, url } = yield* startReceiver()
        const { lines } = yield* startListen(env, "--forward-to", url, "--json", ...words)
        yield* until("the webhooks", () => lines.length > mandates.length)
        const [introduction, ...events] = lines.map((line) => JSON.parse(line))
        assert.strictEqual(introduction.webhook_secret, SECRET)
        assert.deepStrictEqual(
          events.map(({ attempts, mandate_id, status, type }) => [mandate_id, type, attempts, status]),
          mandates.map((id) => [id, "mandate.created", 1, 204])
        )
        assert.lengthOf(received, mandates.length)
      }
    })
  )

  it.live("generates a secret once and keeps it in the data folder", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      const folder = yield* folderForTest
      const { received, url } = yield* startReceiver()
      const env = {
        SVC_DATA_DIR: folder,
        SVC_BASE_URL: `http://127.0.0.1:${apiPort}`,
        SVC_API_KEY: tenant.key
      }
      yield* tenant.newMandate()
      for (let round = 1; round <= 2; round++) {
        const { fiber } = yield* startListen(env, "--forward-to", url, "--from-start")
        yield* until("a webhook", () => received.length >= round)
        yield* Fiber.interrupt(fiber)
        assertSigned(received.at(-1)!, readFileSync(join(folder, "listen.secret"), "utf8").trimEnd())
      }
    })
  )

  it.live(
    "retries a failing target with the same bytes a few times, then skips the event, and follows no redirect",
    () =>
      Effect.gen(function* () {
        const { apiPort, tenant } = yield* startService()
        yield* tenant.newMandate()
        yield* tenant.newMandate()
        const { received, url } = yield* startReceiver(500, 302, 503, 404)
        const env = settingsOf(tenant, apiPort)
        const { lines } = yield* startListen(env, "--forward-to", url, "--from-start")
        yield* until("both events", () => lines.length >= 3)
        const bodies = received.map(({ body }) => String(body))
        assert.lengthOf(bodies, 5)
        assert.strictEqual(new Set(bodies.slice(0, 3)).size, 1)
        assert.strictEqual(new Set(bodies).size, 2)
        assert.match(lines[1]!, / 503 \(attempt 3\)$/u)
        assert.match(lines[2]!, / 204 \(attempt 2\)$/u)
      })
  )

  it.live("explains its secret once after a 401", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      yield* tenant.newMandate()
      yield* tenant.newMandate()
      const { url } = yield* startReceiver(401, 401, 401, 401, 401, 401)
      const env = settingsOf(tenant, apiPort)
      const { lines, notes } = yield* startListen(env, "--forward-to", url, "--from-start")
      yield* until("both events", () => lines.length >= 3)
      assert.match(lines[2]!, / 401 \(attempt 3\)$/u)
      assert.lengthOf(
        notes.filter((line) => line.startsWith("401: does the receiver verify the raw body")),
        1
      )
      assert.notInclude(notes.join(), SECRET)
    })
  )

  it.live("continues if nobody listens at the target", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      yield* tenant.newMandate()
      yield* tenant.newMandate()
      const env = settingsOf(tenant, apiPort)
      const nowhere = ["--forward-to", "http://127.0.0.1:1/", "--from-start"]
      const { lines } = yield* startListen(env, ...nowhere)
      yield* until("both events", () => lines.length >= 3)
      assert.match(lines[2]!, / connection (?:refused|failed) \(attempt 3\)$/u)
    })
  )

  it.live("waits for a server that is unreachable or busy, and forwards every event once", () =>
    Effect.gen(function* () {
      const { received, url } = yield* startReceiver()
      const { asked, baseUrl } = yield* startFakeApi(
        answers(429, { code: "rate_limited" }, { "retry-after": "1" }),
        page([1], "one", true),
        breaksOff,
        answers(503, { code: "store_unavailable" }, { "retry-after": "1" }),
        page([2], "two"),
        page([], "two")
      )
      const env = { SVC_BASE_URL: baseUrl, SVC_API_KEY: API_KEY, SVC_WEBHOOK_SECRET: SECRET }
      const { lines, notes } = yield* startListen(env, "--forward-to", url, "--from-start")
      yield* until("the end", () => asked.length >= 6)
      assert.deepStrictEqual(
        bodiesOf(received).map(({ id }) => id),
        [eventOf(1).id, eventOf(2).id]
      )
      assert.deepStrictEqual(
        asked.slice(0, 6).map((asking) => asking.searchParams.get("after")),
        [null, null, "one", "one", "one", "two"]
      )
      assert.lengthOf(lines, 3)
      assert.include(notes, "the server asks for fewer requests; trying again")
      assert.include(notes, "the server answers again")
    })
  )

  it.live("starts over with a server that has lost its events", () =>
    Effect.gen(function* () {
      const { received, url } = yield* startReceiver()
      const { baseUrl } = yield* startFakeApi(
        page([1], "old"),
        answers(400, { code: "invalid_cursor" }),
        page([2], "new"),
        page([], "new")
      )
      const env = { SVC_BASE_URL: baseUrl, SVC_API_KEY: API_KEY, SVC_WEBHOOK_SECRET: SECRET }
      yield* startListen(env, "--forward-to", url, "--from-start")
      yield* until("both events", () => received.length >= 2)
      assert.deepStrictEqual(
        bodiesOf(received).map(({ id }) => id),
        [eventOf(1).id, eventOf(2).id]
      )
    })
  )

  it.live("exits with one line if it cannot continue", () =>
    Effect.gen(function* () {
      const { apiPort, tenant } = yield* startService()
      const folder = yield* folderForTest
      const env = { ...settingsOf(tenant, apiPort), SVC_DATA_DIR: folder }
      const to = ["--forward-to", "http://127.0.0.1:1/"]
      const { SVC_API_KEY: _, ...withoutKey } = env
      const { SVC_BASE_URL: _url, ...withoutUrl } = env
      for (const [settings, words, code, line] of [
        [env, [], 64, "--forward-to is missing"],
        [env, ["--forward-to", "ftp://x"], 64, /^--forward-to must be a URL/u],
        [env, ["--forward-to", "https://hooks.example/x"], 64, /^--forward-to must be on this machine/u],
        [env, ["--forward-to", "http://10.0.0.1:3000/"], 64, /^--forward-to must be on this machine/u],
        [env, ["--forward-to", "http://localhost.example/"], 64, /^--forward-to must be on this machine/u],
        [env, [...to, "--from-start", "--after", "x"], 64, /exclude each other$/u],
        [env, [...to, "--after", "x"], 64, /^--after is no cursor/u],
        [env, [...to, "--base-url", "http://127.0.0.1:1/x"], 64, /^--base-url must be an origin/u],
        [env, [...to, "--secret", "svc_wh_x"], 64, /^--secret must be/u],
        [{ ...env, SVC_API_KEY: API_KEY }, to, 78, "the server does not accept the API key"],
        [{ ...env, SVC_API_KEY: "key" }, to, 78, /^SVC_API_KEY must be an API key/u],
        [withoutKey, to, 78, /^SVC_API_KEY is missing/u],
        [withoutUrl, to, 78, /^there is no dev\.json/u]
      ] as const) {
        const [exitCode, told] = yield* faultOf(settings, ...words)
        assert.strictEqual(exitCode, code, told)
        if (typeof line === "string") assert.strictEqual(told, line)
        else assert.match(told, line)
      }
      const { fiber, notes } = yield* startListen(env, ...to, "--after", "x")
      yield* Effect.flip(Fiber.join(fiber))
      assert.deepStrictEqual(notes, [])
    })
  )
})
