import { assert, describe, it } from "@effect/vitest"
import { CreateMandateBody } from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { Result } from "effect"
import { parseBody } from "./StrictBody.ts"

describe("parseBody", () => {
  it("keeps a fraction that a double would round away, so that the schema refuses it at its member", () => {
    const text =
      '{"kind":"SINGLE","subject_reference":"u","policy":{"currency":"EUR","max_amount":5000.0000000000000000001,"allowed_actions":["a"]},"window":{"ends_at":"2027-01-01T00:00:00Z"}}'
    const decoded = decodeBody(CreateMandateBody)(
      Result.getOrThrow(parseBody(new TextEncoder().encode(text))).value
    )
    const pointers = Result.isFailure(decoded) ? decoded.failure.map(({ pointer }) => pointer) : []
    assert.deepStrictEqual(pointers, ["/policy/max_amount"])
    const whole = text.replace("5000.0000000000000000001", "5000.0")
    assert.isTrue(Result.isSuccess(parseBody(new TextEncoder().encode(whole))))
  })
})
