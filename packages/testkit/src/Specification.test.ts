import { assert, describe, it } from "@effect/vitest"
import { type Decider, specification } from "./Specification.ts"

type Command = { readonly type: "lend"; readonly to: string } | { readonly type: "return" }
type Event = { readonly type: "lent"; readonly to: string } | { readonly type: "returned" }

class NotLent extends Error {
  readonly code = "not_lent"
}

const decider: Decider<string | undefined, Command, Event> = {
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
}

const lending = specification(decider)

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
    assert.throws(
      () => lending.when({ type: "lend", to: "ada" }).then(),
      /^\{"type":"lend","to":"ada"\} leads to other events than expected\n.*lent/su
    )
    assert.throws(
      () => lending.given(lent).when({ type: "return" }).thenRefused(),
      '{"type":"return"} is not refused, but leads to [{"type":"returned"}]'
    )
    assert.throws(
      () => lending.when({ type: "return" }).then(),
      '{"type":"return"} is refused: Error: nobody has it'
    )
    assert.throws(
      () => lending.given(lent).when({ type: "lend", to: "grace" }).thenRefused(NotLent),
      '{"type":"lend","to":"grace"} is refused for another reason than NotLent: Error: it is lent to ada'
    )
    for (const [expected, words] of [
      ["nobody", '"nobody"'],
      [/nobody/u, "/nobody/u"],
      [{ code: "lent" }, '{"code":"lent"}']
    ] as const)
      assert.throws(
        () => lending.given(lent).when({ type: "lend", to: "grace" }).thenRefused(expected),
        `is refused for another reason than ${words}: Error: it is lent to ada`
      )
    assert.throws(
      () => lending.when({ type: "lend", to: "ada" }).thenState("grace"),
      /^\{"type":"lend","to":"ada"\} leads to another state than expected\n.*ada/su
    )
  })

  it("says what a decider lacks", () => {
    const { evolve: _, ...incomplete } = { ...decider }
    assert.throws(() => specification(incomplete as never), "specification: the decider has no evolve")
    assert.throws(
      () => specification({ ...decider, decide: undefined } as never),
      "specification: the decider has no decide"
    )
    assert.throws(() => specification(undefined as never), "specification: a decider is an object")
  })

  it("says of an example that was awaited that it is no promise", async () => {
    const example = lending.when({ type: "lend", to: "ada" })
    const refused = await (async () => example as unknown)().catch(String)
    assert.strictEqual(
      refused,
      'Error: {"type":"lend","to":"ada"} was awaited: call .then with the events that it leads to, or .thenRefused'
    )
  })
})
