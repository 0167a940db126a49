import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import {
  isWithdrawn,
  type SigningKeyList,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Context, Effect, Layer, Redacted, Result } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const keyOf = (kid: string) => ({
  publicJwk: { kty: "EC", crv: "P-256", use: "sig", alg: "ES256", kid, x: "x", y: "y" } as const,
  sealed: `of ${kid}`
})

const DELAY = 900n * NANOS_PER_SECOND

const signing = ({ keys, now }: SigningKeyList) => signingKeyAt(keys, now)?.publicJwk.kid

const kids = ({ keys }: SigningKeyList) => keys.map(({ publicJwk }) => publicJwk.kid)

const sealedOf = ({ keys }: SigningKeyList) =>
  Object.fromEntries(keys.map(({ publicJwk, sealed }) => [publicJwk.kid, sealed]))

const atOnce = { concurrency: "unbounded" } as const

const url = Redacted.make(server?.url ?? "")

const newSchema = (): string => `test_${randomBytes(6).toString("hex")}`

const recordsIn = (schema: string) =>
  Effect.map(Layer.build(PostgresStore.layer({ url, schema, migrations: "run" })), (ports) =>
    Context.get(ports, SigningKeyRecords)
  )

/** The records of a deployment that has no key. */
const records = Effect.suspend(() => recordsIn(newSchema()))

describe.skipIf(server === undefined)("signing keys on a server (part 7)", () => {
  afterAll(() => server?.stop())

  it.live("are recorded once when several processes add the first, which signs at once", () =>
    Effect.gen(function* () {
      const { addFirst, list } = yield* records
      assert.deepStrictEqual((yield* list).keys, [])
      yield* Effect.forEach(["a", "b", "c"], (kid) => addFirst(keyOf(kid)), atOnce)
      const found = yield* list
      assert.strictEqual(found.keys.length, 1)
      assert.strictEqual(signing(found), kids(found)[0])
      assert.strictEqual(found.keys[0]?.sealed, `of ${kids(found)[0]}`)
    })
  )

  it.live("begin with one that signs at once when a rotation precedes them", () =>
    Effect.gen(function* () {
      const { addFirst, list, rotate } = yield* records
      const { isFirst, signsFrom } = yield* rotate(keyOf("a"), { delay: DELAY })
      const found = yield* list
      assert.isTrue(isFirst && signsFrom <= found.now)
      assert.strictEqual(signing(found), "a")
      yield* addFirst(keyOf("b"))
      assert.deepStrictEqual(kids(yield* list), ["a"])
    })
  )

  it.live("are published at once and sign later after a rotation, before which there is no second", () =>
    Effect.gen(function* () {
      const { addFirst, forgetBefore, list, rotate } = yield* records
      yield* addFirst(keyOf("a"))
      const before = yield* list
      const { isFirst, signsFrom } = yield* rotate(keyOf("b"), { delay: DELAY })
      const after = yield* list
      assert.isFalse(isFirst)
      assert.isTrue(signsFrom >= before.now + DELAY && signsFrom <= after.now + DELAY)
      assert.deepStrictEqual(kids(after), ["a", "b"])
      assert.strictEqual(signing(after), "a")
      assert.strictEqual(signingKeyAt(after.keys, signsFrom - 1n)?.publicJwk.kid, "a")
      assert.strictEqual(signingKeyAt(after.keys, signsFrom)?.publicJwk.kid, "b")
      const refused = yield* Effect.flip(rotate(keyOf("c"), { delay: DELAY }))
      assert.deepInclude(refused, { _tag: "RotationPending", kid: "b", signsFrom })
      yield* forgetBefore("b")
      assert.deepStrictEqual(sealedOf(yield* list), { a: "of a", b: "of b" })
    })
  )

  it.live("are rotated once by several concurrent rotations", () =>
    Effect.gen(function* () {
      const { addFirst, list, rotate } = yield* records
      yield* addFirst(keyOf("first"))
      const results = yield* Effect.forEach(
        ["a", "b", "c", "d"],
        (kid) => Effect.result(rotate(keyOf(kid), { delay: DELAY })),
        atOnce
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      assert.strictEqual((yield* list).keys.length, 2)
    })
  )

  it.live("sign at once after a rotation for a compromise, which withdraws a pending one", () =>
    Effect.gen(function* () {
      const { addFirst, forgetBefore, list, rotate } = yield* records
      yield* addFirst(keyOf("a"))
      yield* rotate(keyOf("b"), { delay: DELAY })
      yield* rotate(keyOf("c"), "now")
      const found = yield* list
      assert.strictEqual(signing(found), "c")
      assert.strictEqual(signingKeyAt(found.keys, found.now + 2n * DELAY)?.publicJwk.kid, "c")
      assert.sameMembers([...kids(found)], ["a", "b", "c"])
      assert.deepStrictEqual(sealedOf(found), { a: "of a", b: undefined, c: "of c" })
      yield* forgetBefore("b")
      assert.deepStrictEqual(sealedOf(yield* list), { a: "of a", b: undefined, c: "of c" })
      yield* forgetBefore("c")
      assert.deepStrictEqual(sealedOf(yield* list), { a: undefined, b: undefined, c: "of c" })
      yield* rotate(keyOf("d"), { delay: DELAY })
      const later = yield* list
      assert.strictEqual(signing(later), "c")
      assert.strictEqual(signingKeyAt(later.keys, later.now + DELAY)?.publicJwk.kid, "d")
    })
  )

  it.live("sign with the last of several concurrent rotations for a compromise", () =>
    Effect.gen(function* () {
      const { addFirst, list, rotate } = yield* records
      yield* addFirst(keyOf("first"))
      yield* Effect.forEach(["a", "b", "c"], (kid) => rotate(keyOf(kid), "now"), atOnce)
      const { keys } = yield* list
      assert.strictEqual(new Set(keys.map(({ signsFrom }) => signsFrom)).size, 4)
    })
  )

  it.live("are replaced once by several concurrent withdrawals of the current one", () =>
    Effect.gen(function* () {
      const { addFirst, forgetBefore, list, rotate, withdraw } = yield* records
      yield* addFirst(keyOf("a"))
      yield* rotate(keyOf("b"), "now")
      yield* rotate(keyOf("pending"), { delay: DELAY })
      const answers = yield* Effect.forEach(["c", "d", "e"], (kid) => withdraw("b", keyOf(kid)), atOnce)
      const found = yield* list
      assert.strictEqual(new Set(answers.map(({ signing: kid }) => kid)).size, 1)
      assert.strictEqual(new Set(answers.map(({ withdrawnAt }) => withdrawnAt)).size, 1)
      assert.strictEqual(signing(found), answers[0]?.signing)
      assert.strictEqual(signingKeyAt(found.keys, found.now + 2n * DELAY)?.publicJwk.kid, answers[0]?.signing)
      assert.deepStrictEqual(
        found.keys
          .filter(isWithdrawn)
          .map(({ publicJwk }) => publicJwk.kid)
          .sort(),
        ["b", "pending"]
      )
      yield* forgetBefore(answers[0]!.signing)
      const { a, b, pending } = sealedOf(yield* list)
      assert.deepStrictEqual([a, b, pending], [undefined, undefined, undefined])
      yield* withdraw("a", keyOf("f"))
      assert.deepStrictEqual(kids(yield* list).length, 4)
      assert.strictEqual((yield* Effect.flip(withdraw("x", keyOf("g"))))._tag, "SigningKeyUnknown")
      // The first row, withdrawn, is still what rotations take turns by.
      const rotation = yield* rotate(keyOf("h"), "now")
      assert.isFalse(rotation.isFirst)
      assert.strictEqual(signing(yield* list), "h")
    })
  )
})
