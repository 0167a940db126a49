import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Refused } from "../http/ProblemResponse.ts"
import { type MediaTypeCheck, readCheckedBody, refuseParameters, refuseQuery } from "./RequestSteps.ts"

const request = (query: string, init: RequestInit = {}) =>
  HttpServerRequest.fromWeb(new Request(`http://localhost/path${query}`, init))

/** The code of the refusal, or "passed". */
const outcomeOf = <A>(step: Effect.Effect<A, Refused>) =>
  Effect.match(step, { onSuccess: () => "passed", onFailure: ({ code }) => code })

describe("RequestSteps (part 2)", () => {
  it.effect("refuseParameters lets a lone question mark pass, refuseQuery does not", () =>
    Effect.gen(function* () {
      for (const [query, parameters, any] of [
        ["", "passed", "passed"],
        ["?", "passed", "malformed_request"],
        ["?a=1", "malformed_request", "malformed_request"],
        ["?%", "malformed_request", "malformed_request"]
      ] as const) {
        assert.strictEqual(yield* outcomeOf(refuseParameters(request(query))), parameters, query)
        assert.strictEqual(yield* outcomeOf(refuseQuery(request(query))), any, query)
      }
    })
  )

  it.effect("readCheckedBody checks the media type of a request without a body only when told to", () =>
    Effect.gen(function* () {
      const named = { method: "POST", headers: { "content-type": "text/plain" } }
      const unnamed = { method: "POST" }
      for (const [check, withName, without] of [
        ["with-body", "passed", "passed"],
        ["if-named", "unsupported_media_type", "passed"],
        ["always", "unsupported_media_type", "unsupported_media_type"]
      ] as const satisfies ReadonlyArray<readonly [MediaTypeCheck, string, string]>) {
        assert.strictEqual(yield* outcomeOf(readCheckedBody(request("", named), check)), withName, check)
        assert.strictEqual(yield* outcomeOf(readCheckedBody(request("", unnamed), check)), without, check)
      }
    })
  )
})
