import { assert, describe, it } from "@effect/vitest"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { Effect } from "effect"
import { encodeCursor, identifierCursor, listPageOf, numberCursor, textCursor } from "./Cursor.ts"

const scope = { list: "mandates", state: "ACTIVE" }
const raw = (text: string) => encodeBase64Url(new TextEncoder().encode(text))
const refused = <A>(effect: Effect.Effect<A, { readonly _tag: string }>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => assert.strictEqual(_tag, "InvalidCursor"))

describe("cursors", () => {
  it.effect("lead back to where they were made", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* textCursor(scope, encodeCursor(scope, "mnd_1")), "mnd_1")
      assert.strictEqual(yield* numberCursor(scope, encodeCursor(scope, 7)), 7)
      assert.isUndefined(yield* textCursor(scope, undefined))
      assert.isUndefined(yield* numberCursor(scope, undefined))
    })
  )

  it.effect("of identifiers lead to one of their kind alone", () =>
    Effect.gen(function* () {
      const id = "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx"
      assert.strictEqual(yield* identifierCursor(scope, "mnd_", encodeCursor(scope, id)), id)
      assert.isUndefined(yield* identifierCursor(scope, "mnd_", undefined))
      yield* refused(identifierCursor(scope, "aut_", encodeCursor(scope, id)))
      yield* refused(identifierCursor(scope, "mnd_", encodeCursor(scope, "mnd_1")))
      yield* refused(identifierCursor(scope, "mnd_", encodeCursor(scope, 7)))
    })
  )

  const bad: Readonly<Record<string, unknown>> = {
    "no text": 7,
    empty: "",
    "not base64url": "???",
    padded: `${encodeCursor(scope, "mnd_1")}=`,
    "not JSON": raw("{"),
    "not an object": raw('"mnd_1"'),
    null: raw("null"),
    "without a position": raw('{"scope":{"list":"mandates","state":"ACTIVE"}}'),
    "of another list": encodeCursor({ list: "events", state: "ACTIVE" }, "mnd_1"),
    "of other filters": encodeCursor({ list: "mandates", state: "" }, "mnd_1"),
    "in another form": raw('{ "after":"mnd_1","scope":{"list":"mandates","state":"ACTIVE"}}'),
    "with a member more": raw('{"after":"mnd_1","more":1,"scope":{"list":"mandates","state":"ACTIVE"}}'),
    "with a lone surrogate": raw('{"after":"\\ud800","scope":{"list":"mandates","state":"ACTIVE"}}'),
    "with U+0000": raw('{"after":"\\u0000","scope":{"list":"mandates","state":"ACTIVE"}}'),
    "with a duplicate member": raw('{"after":"a","after":"a","scope":{"list":"mandates","state":"ACTIVE"}}'),
    "nested too deep": raw(`${"[".repeat(100)}${"]".repeat(100)}`)
  }
  for (const [title, cursor] of Object.entries(bad)) {
    it.effect(`are refused: ${title}`, () =>
      Effect.andThen(refused(textCursor(scope, cursor)), refused(numberCursor(scope, cursor)))
    )
  }

  for (const after of [0, -1, 1.5, 9007199254740992]) {
    it.effect(`a position by number is a whole number from 1: ${after}`, () =>
      refused(numberCursor(scope, encodeCursor(scope, after)))
    )
  }

  it.effect("kinds of positions do not mix", () =>
    Effect.andThen(
      refused(numberCursor(scope, encodeCursor(scope, "1"))),
      refused(textCursor(scope, encodeCursor(scope, 1)))
    )
  )
})

describe("pages", () => {
  const page = (found: ReadonlyArray<number>) => listPageOf(scope, found, 2, (entry) => entry, String)
  it("have more when one more was found", () => {
    assert.deepStrictEqual(page([3, 2, 1]), {
      data: ["3", "2"],
      has_more: true,
      next_cursor: encodeCursor(scope, 2)
    })
    assert.deepStrictEqual(page([3, 2]), { data: ["3", "2"], has_more: false, next_cursor: null })
    assert.deepStrictEqual(page([]), { data: [], has_more: false, next_cursor: null })
  })
})
