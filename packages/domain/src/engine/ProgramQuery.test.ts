import { assert, describe, it } from "@effect/vitest"
import { MandateStateName } from "@svc/protocol/Mandate"
import { Effect, Result, Schema } from "effect"
import { listReader, pageLimit, pathReader } from "./ProgramQuery.ts"

const organization = "org_01jdxxxxxxxxxxxxxxxxxxxxxx"

/** What a query is read as, or the refusal by its tag and pointers. */
const told = <A>(
  query: Effect.Effect<
    A,
    { readonly _tag: string; readonly errors?: ReadonlyArray<{ pointer: string; code: string }> }
  >
) =>
  Effect.map(Effect.result(query), (result): unknown => {
    if (Result.isSuccess(result)) return result.success
    const { _tag, errors } = result.failure
    return errors === undefined ? _tag : errors.map(({ code, pointer }) => `${pointer} ${code}`)
  })

const NO_ORGANIZATION = [undefined, "", 7, "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx", `${organization}x`]

describe("a query for one resource", () => {
  const read = pathReader("mandateId")

  it.effect("names an organization, and a resource by a text that may be malformed", () =>
    Effect.gen(function* () {
      const expected = { organization, mandateId: "mnd_x" }
      assert.deepStrictEqual(yield* told(read({ ...expected, more: 1 })), expected)
      assert.deepStrictEqual(yield* told(read({ organization })), { organization, mandateId: "" })
      for (const other of NO_ORGANIZATION) {
        assert.strictEqual(yield* told(read({ ...expected, organization: other })), "OrganizationUnknown")
      }
      assert.strictEqual(yield* told(read(undefined)), "OrganizationUnknown")
    })
  )
})

describe("a query for a list", () => {
  const read = listReader({ limit: pageLimit, state: Schema.optionalKey(MandateStateName) }, "mandateId")
  const query = { organization, mandateId: "mnd_x", limit: 1 }

  it.effect("has a limit of 1 to 100, filters that meet their schema, and any cursor", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* told(read(query)), { ...query, cursor: undefined })
      const full = { ...query, limit: 100, state: "ACTIVE", cursor: 7 }
      assert.deepStrictEqual(yield* told(read({ ...full, more: 1 })), full)
      assert.deepStrictEqual(yield* told(read({ ...query, limit: 0 })), ["/limit invalid_value"])
      assert.deepStrictEqual(yield* told(read({ ...query, limit: 101 })), ["/limit invalid_value"])
      assert.deepStrictEqual(yield* told(read({ ...query, state: "DONE" })), ["/state invalid_value"])
      assert.deepStrictEqual(yield* told(read({ organization })), ["/limit required"])
    })
  )

  it.effect("is refused for its organization before anything else", () =>
    Effect.gen(function* () {
      for (const other of NO_ORGANIZATION) {
        assert.strictEqual(yield* told(read({ organization: other, limit: 0 })), "OrganizationUnknown")
      }
    })
  )
})
