import { MandateStore } from "@svc/domain/ports/MandateStore"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { Effect } from "effect"
import { followingChange, newPasskey, newSubject } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refused, refusedWith } from "./Refused.ts"
import { appendAndLoad, newPlace, recordMandate, type StoreIt, storeNow } from "./StoreUnderTest.ts"

export const subjectContract = (it: StoreIt): void => {
  it.describe("subjects", () => {
    it.effect("an absent subject is absent, and cannot be replaced", () =>
      Effect.gen(function* () {
        const subjects = yield* SubjectStore
        const place = newPlace()
        const before = yield* storeNow
        const loaded = yield* subjects.load(place)
        assert.isUndefined(loaded.subject)
        assert.isTrue(loaded.now >= before)
        for (const expected of [0, 1]) {
          const refusal = yield* refused(
            "replace",
            subjects.replace({ ...place, expected, next: newSubject() })
          )
          assert.strictEqual(refusal._tag, "Stale")
        }
        assert.isUndefined((yield* subjects.load(place)).subject)
      })
    )

    it.effect("append and replace fence each other by the subject's revision", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const subjects = yield* SubjectStore
        const place = newPlace()
        const reference = place.subjectReference
        const current = yield* recordMandate(place)
        const first = newSubject({ passkeys: [newPasskey()] })
        const enrol = followingChange(current, [], {
          subject: { reference, expected: "absent", next: first }
        })
        const enrolled = yield* appendAndLoad(enrol)
        assert.deepStrictEqual(enrolled.stream.subject, first)
        assert.deepStrictEqual((yield* subjects.load(place)).subject, first)

        const retired = { ...first, revision: 2, passkeys: [] }
        yield* subjects.replace({ ...place, expected: 1, next: retired })
        assert.deepStrictEqual((yield* subjects.load(place)).subject, retired)
        const twice = yield* refused("replace", subjects.replace({ ...place, expected: 1, next: first }))
        assert.strictEqual(twice._tag, "Stale")

        const use = (expected: number) =>
          followingChange(enrolled, [], {
            subject: { reference, expected, next: { ...retired, revision: expected + 1 } }
          })
        yield* refusedWith("Stale", "append", store.append(use(1)))
        const { stream } = yield* appendAndLoad(use(2))
        assert.strictEqual(stream.subject?.revision, 3)
      })
    )

    it.effect("the store counts the revision, whatever the change says", () =>
      Effect.gen(function* () {
        const subjects = yield* SubjectStore
        const place = newPlace()
        const reference = place.subjectReference
        const next = newSubject({ revision: 70 })
        yield* recordMandate(place, () => ({ subject: { reference, expected: "absent", next } }))
        assert.strictEqual((yield* subjects.load(place)).subject?.revision, 1)
        yield* subjects.replace({ ...place, expected: 1, next })
        assert.strictEqual((yield* subjects.load(place)).subject?.revision, 2)
      })
    )

    it.effect("one subject serves all of its mandates; a change that leaves it alone does not touch it", () =>
      Effect.gen(function* () {
        const place = newPlace()
        const reference = place.subjectReference
        const next = newSubject({ passkeys: [newPasskey()] })
        yield* recordMandate(place, () => ({ subject: { reference, expected: "absent", next } }))
        const { mandate: _, ...samePerson } = place
        const other = yield* recordMandate(samePerson)
        assert.deepStrictEqual(other.stream.subject, next)
        const { stream } = yield* appendAndLoad(followingChange(other, []))
        assert.deepStrictEqual(stream.subject, next)
        const stranger = yield* recordMandate({ organization: place.organization })
        assert.notProperty(stranger.stream, "subject")
      })
    )

    it.effect("references are compared exactly", () =>
      Effect.gen(function* () {
        const subjects = yield* SubjectStore
        const { organization } = newPlace()
        const references = [
          "u",
          "U",
          "u ",
          "\u00e9",
          "e\u0301",
          "\ufb33",
          "\u{1f600}",
          "%",
          "_",
          "__proto__",
          "a/b"
        ]
        for (const subjectReference of references) {
          const next = newSubject()
          yield* recordMandate({ organization, subjectReference }, () => ({
            subject: { reference: subjectReference, expected: "absent", next }
          }))
          const { subject } = yield* subjects.load({ organization, subjectReference })
          assert.strictEqual(subject?.userHandle, next.userHandle, subjectReference)
        }
      })
    )
  })
}
