import { assert, describe, it } from "@effect/vitest"
import { IdentityKeysUnavailable } from "@svc/domain/ports/IdentityVerifier"
import { problemOfRefusal } from "@svc/domain/programs/RefusalProblem"
import { HistoryChanged, InvalidCursor, WebhookTargetNotAllowed } from "@svc/domain/Refusals"
import { PROBLEMS } from "@svc/protocol/Problem"
import { Effect } from "effect"
import { startApi } from "../../test/ApiUnderTest.ts"
import { problemPage } from "../reference/ProblemPages.ts"
import { refusing } from "./ProblemResponse.ts"

describe("refusing", () => {
  it.effect("answers 503 while identity keys are unavailable, with the time of the next fetch", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(
        refusing(Effect.fail(new IdentityKeysUnavailable({ cause: "down", retryAfterSeconds: 5 })))
      )
      assert.strictEqual(refused.code, "store_unavailable")
      assert.strictEqual(refused.retryAfterSeconds, 5)
    })
  )
})

describe("problemOfRefusal of HistoryChanged", () => {
  it("has its own remedy as detail", () => {
    const { code, detail } = problemOfRefusal(new HistoryChanged())
    assert.strictEqual(code, "invalid_cursor")
    assert.match(detail ?? "", /No later answer takes this cursor\. Begin again without it/u)
    assert.strictEqual(problemOfRefusal(new InvalidCursor()).detail, undefined)
    assert.strictEqual(
      PROBLEMS.invalid_cursor.cause,
      "The cursor was not issued for this list and these filters."
    )
    assert.include(problemPage("invalid_cursor", "https://api.example"), "put back to an earlier state")
  })
})

describe("problemOfRefusal of WebhookTargetNotAllowed (part 8)", () => {
  it.live("says what is wrong with the form of the URL", () =>
    Effect.gen(function* () {
      const api = yield* startApi()
      for (const [url, detail] of [
        ["hooks.example/x", "The url is not a URL such as"],
        ["http://hooks.example/x", "The url must begin with https://: no other scheme is taken."],
        ["ftp://hooks.example/x", "The url must begin with https://: no other scheme is taken."],
        ["https://a:b@hooks.example/x", "The url must not carry a user"],
        ["https://93.184.215.14/x", "The host of the url must be a name, not an address."],
        ["https://hooks.example:22/x", "The port of the url must be 443, or 1024 to 65535."],
        ["https://hooks/x", "not a single label."]
      ] as const) {
        const answer = yield* api.send({
          method: "POST",
          path: "/v1/webhook-endpoints",
          key: api.key,
          lines: ["Idempotency-Key: one"],
          body: { url }
        })
        const problem = JSON.parse(answer.body)
        assert.deepStrictEqual([answer.status, problem.code], [422, "webhook_target_not_allowed"])
        assert.include(problem.detail, detail)
        assert.isFalse(problem.retryable)
        assert.notProperty(problem, "errors")
      }
    })
  )

  it("has one detail for whatever the name resolves to", () => {
    const { code, detail } = problemOfRefusal(new WebhookTargetNotAllowed({}))
    assert.strictEqual(code, "webhook_target_not_allowed")
    assert.include(detail, "does not resolve, or not to public addresses alone")
  })
})
