import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { type Asking, makeBrowser, openHouse } from "./ApprovalVisitor.ts"

const NOW = Date.UTC(2026, 10, 28, 9)
const UNKNOWN_TOKEN = "A".repeat(43)

/** One byte more than a body may have. */
const TOO_LONG = 64 * 1024 + 1

/** In their order (parts 2 and 6): what each fault is answered with. */
const LADDER = [
  ["route", 404, "not_found"],
  ["method", 405, "method_not_allowed"],
  ["origin", 403, "origin_not_allowed"],
  ["token", 410, "approval_session_closed"],
  ["cookie", 409, "approval_session_bound"],
  ["query", 400, "malformed_request"],
  ["accept", 406, "not_acceptable"],
  ["media type", 415, "unsupported_media_type"],
  ["size", 413, "payload_too_large"],
  ["JSON", 400, "malformed_json"],
  ["schema", 422, "validation_failed"],
  ["challenge", 422, "passkey_verification_failed"]
] as const
type Fault = (typeof LADDER)[number][0]

/** A request to approve that has these faults and no others. */
const faulty = (
  request: { readonly path: string; readonly token: string; readonly honest: object; readonly stale: object },
  faults: ReadonlySet<Fault>
): { readonly path: string; readonly asking: Asking } => {
  const has = (fault: Fault): boolean => faults.has(fault)
  const { path, token, honest, stale } = request
  const answer = has("challenge") ? stale : honest
  const text = JSON.stringify(has("schema") ? { ...answer, type: "password" } : answer)
  const json = has("JSON") ? text.slice(0, -1) : text
  const target = has("token") ? path.replace(token, UNKNOWN_TOKEN) : path
  return {
    path: `${target}${has("route") ? "/" : ""}${has("query") ? "?a=b" : ""}`,
    asking: {
      method: has("method") ? "PUT" : "POST",
      body: has("size") ? json + " ".repeat(TOO_LONG) : json,
      headers: {
        ...(has("origin") ? { origin: "https://evil.example" } : {}),
        ...(has("cookie") ? { cookie: null } : {}),
        ...(has("accept") ? { accept: "text/html" } : {}),
        ...(has("media type") ? { "content-type": "text/plain" } : {})
      }
    }
  }
}

describe("the order of checks on the approval origin (part 6)", () => {
  it.effect(
    "answers every pair of faults with the earlier one, and uses up nothing before the challenge",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(NOW)
        const house = yield* openHouse()
        const mandate = yield* house.newMandate()
        const { path, token } = yield* house.newSession(mandate.id)
        const browser = makeBrowser(house)
        yield* browser.register(path)
        const old = yield* browser.ceremony(path)
        const stale = browser.passkey.authenticate(old.options)
        const { options } = yield* browser.ceremony(path)
        const request = {
          path: `${path}/approval`,
          token,
          honest: browser.passkey.authenticate(options),
          stale
        }
        const ask = Effect.fnUntraced(function* (faults: ReadonlyArray<Fault>) {
          const { asking, path } = faulty(request, new Set(faults))
          const answer = yield* browser.post(path, {}, asking)
          return [answer.status, JSON.parse(answer.body).code]
        })

        const spending = LADDER.length - 1
        for (const [index, [earlier, status, code]] of LADDER.entries()) {
          if (index === spending) break
          assert.deepStrictEqual(yield* ask([earlier]), [status, code], earlier)
          for (const [later] of LADDER.slice(index + 1)) {
            assert.deepStrictEqual(yield* ask([earlier, later]), [status, code], `${earlier} and ${later}`)
          }
          const others = LADDER.slice(index).map(([fault]) => fault)
          assert.deepStrictEqual(yield* ask(others), [status, code], `${earlier} and all that follows`)
        }
        assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")

        const { redirect_to } = JSON.parse((yield* browser.post(request.path, request.honest)).body)
        assert.isString(redirect_to, "the challenge was spent")
        assert.strictEqual(yield* house.stateOf(mandate.id), "ACTIVE")
      })
  )

  it.effect("ends with the challenge, which is then used up", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const house = yield* openHouse()
      const mandate = yield* house.newMandate()
      const { path } = yield* house.newSession(mandate.id)
      const browser = makeBrowser(house)
      yield* browser.register(path)
      const old = yield* browser.ceremony(path)
      const { options } = yield* browser.ceremony(path)
      for (const { options: signed } of [old, { options }]) {
        const answer = yield* browser.post(`${path}/approval`, browser.passkey.authenticate(signed))
        assert.deepStrictEqual(
          [answer.status, JSON.parse(answer.body).code],
          [422, "passkey_verification_failed"]
        )
      }
      assert.strictEqual(yield* house.stateOf(mandate.id), "PENDING_APPROVAL")
    })
  )
})
