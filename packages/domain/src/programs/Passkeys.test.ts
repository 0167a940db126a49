import { assert, describe, it } from "@effect/vitest"
import { newIdentifier, newPasskey, newSubject } from "@svc/testkit/StoreFixtures"
import { Effect, Layer } from "effect"
import { at } from "../../test/MandateStory.ts"
import type { SubjectCredentials } from "../approval/ApprovalSessionState.ts"
import { SubjectStore } from "../ports/SubjectStore.ts"
import { listPasskeys, retirePasskey } from "./Passkeys.ts"

const organization = newIdentifier("org_")
const subjectReference = "user_8f2"
const [oldest, retired, newer, newest] = [
  newPasskey({ lastUsedAt: "2026-11-01T00:00:00.000000000Z" }),
  newPasskey({ retiredAt: "2026-11-02T00:00:00.000000000Z" }),
  newPasskey({ backupEligible: false }),
  newPasskey()
] as const

/** The passkeys of one subject, in no order. */
const subjects = (start: SubjectCredentials | undefined) => {
  let subject = start
  let replaced = 0
  const layer = Layer.succeed(
    SubjectStore,
    SubjectStore.of({
      load: (query) =>
        Effect.succeed({
          now: at("2026-12-01T00:00:00Z"),
          subject: query.subjectReference === subjectReference ? subject : undefined
        }),
      replace: ({ next }) =>
        Effect.sync(() => {
          subject = next
          replaced += 1
        })
    })
  )
  return { layer, current: () => ({ subject, replaced }) }
}

const everyone = () => subjects(newSubject({ passkeys: [newer, oldest, newest, retired] }))

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const list = (limit: number, cursor?: string) =>
  listPasskeys({ organization, subjectReference, limit, ...(cursor === undefined ? {} : { cursor }) })

const retire = (passkeyId: string) => retirePasskey({ organization, subjectReference, passkeyId })

describe("the passkeys of a subject (part 6)", () => {
  it.effect("are shown while they are active, the newest first, page by page", () =>
    Effect.gen(function* () {
      const all = yield* list(3)
      assert.deepStrictEqual(
        all.data as unknown,
        [newest, newer, oldest].map(({ backupEligible, enrolledAt, id, lastUsedAt }) => ({
          id,
          created_at: enrolledAt,
          ...(lastUsedAt === undefined ? {} : { last_used_at: lastUsedAt }),
          backup_eligible: backupEligible
        }))
      )
      assert.isFalse(all.has_more)
      const first = yield* list(1)
      assert.deepStrictEqual([first.data, first.has_more], [all.data.slice(0, 1), true])
      const rest = yield* list(2, first.next_cursor ?? "")
      assert.deepStrictEqual([rest.data, rest.has_more], [all.data.slice(1), false])
      assert.strictEqual(yield* tagOf(list(1, "another")), "InvalidCursor")
      const foreign = { organization, subjectReference: "user_9", limit: 1, cursor: first.next_cursor ?? "" }
      assert.strictEqual(yield* tagOf(listPasskeys(foreign)), "InvalidCursor")
    }).pipe(Effect.provide(everyone().layer))
  )

  it.effect("are none of a subject that never had one, and not found for what no subject is called", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* list(1)).data, [])
      for (const other of ["", "a\u0000", "x".repeat(256)]) {
        const query = { organization, subjectReference: other }
        assert.strictEqual(yield* tagOf(listPasskeys({ ...query, limit: 1 })), "NotFound")
        assert.strictEqual(yield* tagOf(retirePasskey({ ...query, passkeyId: newest.id })), "NotFound")
      }
    }).pipe(Effect.provide(subjects(undefined).layer))
  )

  it.effect("are retired once, by the store's clock", () => {
    const { current, layer } = everyone()
    return Effect.gen(function* () {
      yield* retire(newer.id)
      yield* retire(newer.id)
      yield* retire(retired.id)
      assert.strictEqual(current().replaced, 1)
      assert.deepStrictEqual(current().subject?.passkeys, [
        { ...newer, retiredAt: "2026-12-01T00:00:00.000000000Z" },
        oldest,
        newest,
        retired
      ])
      for (const other of [newIdentifier("psk_"), newIdentifier("mnd_"), "", "psk_x"]) {
        assert.strictEqual(yield* tagOf(retire(other)), "NotFound")
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("are not retired of a subject that has none", () =>
    Effect.map(tagOf(retire(newer.id)), (tag) => assert.strictEqual(tag, "NotFound")).pipe(
      Effect.provide(subjects(undefined).layer)
    )
  )
})
