import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { IdentityKeysUnavailable } from "../ports/IdentityVerifier.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { SignerUnavailable } from "../ports/Signer.ts"
import {
  HistoryChanged,
  IdentityAssertionInvalid,
  MandateLimitReached,
  NotFound,
  StateConflict,
  TerminalStateConflict,
  ValidationFailed,
  WebhookTargetNotAllowed
} from "../Refusals.ts"
import { type DomainRefusal, logUnavailable, problemOfRefusal } from "./RefusalProblem.ts"

const errors = [{ pointer: "/kind", code: "required", detail: "is required" }]
const conflict = { currentState: "REVOKED", resourceId: "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx" }

describe("the problem of a refusal (part 2)", () => {
  const rows: ReadonlyArray<readonly [DomainRefusal, object]> = [
    [new NotFound(), { code: "not_found" }],
    [new ValidationFailed({ errors }), { code: "validation_failed", errors }],
    [new StateConflict({ ...conflict, needed: ["ACTIVE"] }), { code: "state_conflict", ...conflict }],
    [new TerminalStateConflict(conflict), { code: "terminal_state_conflict", ...conflict }],
    [new StoreUnavailable({}), { code: "store_unavailable", retryAfterSeconds: 1 }],
    [new StoreUnavailable({ retryAfterSeconds: 9 }), { code: "store_unavailable", retryAfterSeconds: 9 }],
    [new SignerUnavailable({}), { code: "store_unavailable", retryAfterSeconds: 1 }],
    [
      new IdentityKeysUnavailable({ cause: "down", retryAfterSeconds: 5 }),
      { code: "store_unavailable", retryAfterSeconds: 5 }
    ]
  ]
  for (const [refusal, expected] of rows) {
    it(`has the code, and what is known beyond it: ${refusal._tag}`, () => {
      const { detail: _, ...facts } = problemOfRefusal(refusal)
      assert.deepStrictEqual(facts, expected)
    })
  }

  it("has a detail where there is more to say than the general cause", () => {
    const details = [
      new NotFound(),
      new IdentityAssertionInvalid({}),
      new IdentityAssertionInvalid({ detail: "It has expired." }),
      new MandateLimitReached({ detail: "As many as it may." })
    ].map((refusal) => problemOfRefusal(refusal).detail)
    assert.deepStrictEqual(details, [undefined, undefined, "It has expired.", "As many as it may."])
    assert.notProperty(problemOfRefusal(new IdentityAssertionInvalid({})), "detail")
    for (const [refusal, text] of [
      [new HistoryChanged(), "put back to an earlier state"],
      [new WebhookTargetNotAllowed({}), "does not resolve, or not to public addresses"],
      [new WebhookTargetNotAllowed({ form: "fragment" }), "must not have a fragment"],
      [new StateConflict({ ...conflict, needed: ["ACTIVE"] }), "The mandate is REVOKED"],
      [new TerminalStateConflict(conflict), "REVOKED"]
    ] as const) {
      assert.include(problemOfRefusal(refusal).detail, text)
    }
  })
})

describe("what is unavailable", () => {
  const logged = (refusal: DomainRefusal) => {
    const messages: Array<unknown> = []
    const collect = Logger.make(({ message }) => void messages.push(message))
    return Effect.as(logUnavailable(refusal), messages).pipe(Effect.provide(Logger.layer([collect])))
  }

  it.effect("is logged with its cause, and no refusal that is the caller's affair", () =>
    Effect.gen(function* () {
      const store = new StoreUnavailable({ cause: "no connection" })
      assert.deepStrictEqual(yield* logged(store), [["unavailable", "StoreUnavailable", store]])
      assert.deepStrictEqual(yield* logged(new SignerUnavailable({ cause: "no key" })), [
        ["unavailable", "SignerUnavailable", "no key"]
      ])
      const keys = new IdentityKeysUnavailable({ cause: "down", retryAfterSeconds: 5 })
      assert.deepStrictEqual(yield* logged(keys), [["unavailable", "IdentityKeysUnavailable", "down"]])
      assert.deepStrictEqual(yield* logged(new NotFound()), [])
    })
  )
})
