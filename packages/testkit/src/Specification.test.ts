import { assert, describe, it } from "@effect/vitest"
import { specification } from "./Specification.ts"

type Command = { readonly type: "lend"; readonly to: string } | { readonly type: "return" }
type Event = { readonly type: "lent"; readonly to: string } | { readonly type: "returned" }

class NotLent extends Error {
  readonly code = "not_lent"
}

const lending = specification<string | undefined, Command, Event>({
  initialState: undefined,
  decide: (borrower, command) => {
    if (command.type === "return") {
      if (borrower === undefined) throw new NotLent("nobody has it")
      return { type: "returned" }
    }
    if (borrower !== undefined) throw new Error(`it is lent to ${borrower}`)
    return [{ type: "lent", to: command.to }]
  },
  evolve: (_, event) => (event.type === "lent" ? event.to : undefined)
})

const lent: Event = { type: "lent", to: "ada" }

describe("a specification", () => {
  it("holds where the events, the refusal and the state are those that are named", () => {
    lending.when({ type: "lend", to: "ada" }).then(lent)
    lending.given(lent, { type: "returned" }).when({ type: "lend", to: "ada" }).then(lent)
    lending.given(lent).when({ type: "return" }).thenState(undefined)
    lending.when({ type: "lend", to: "ada" }).thenState((borrower) => assert.strictEqual(borrower, "ada"))
    for (const refusal of [undefined, Error, "lent to ada", /ada$/u, { name: "Error" }])
      lending.given(lent).when({ type: "lend", to: "grace" }).thenRefused(refusal)
    lending.when({ type: "return" }).thenRefused(NotLent)
    lending.when({ type: "return" }).thenRefused({ code: "not_lent" })
  })

  it("fails with the command and what came of it where they are not", () => {
    assert.throws(() => lending.when({ type: "lend", to: "ada" }).then(), /lent/u)
    assert.throws(
      () => lending.given(lent).when({ type: "return" }).thenRefused(),
      '{"type":"return"} is not refused, but leads to [{"type":"returned"}]'
    )
    assert.throws(() => lending.when({ type: "return" }).then(), "is refused: Error: nobody has it")
    assert.throws(
      () => lending.given(lent).when({ type: "lend", to: "grace" }).thenRefused(NotLent),
      "for another reason: Error: it is lent to ada"
    )
    assert.throws(() => lending.when({ type: "lend", to: "ada" }).thenState("grace"), /ada/u)
  })
})
