import { MandateStore } from "@svc/domain/ports/MandateStore"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { Effect } from "effect"
import {
  claimOf,
  followingChange,
  newAuthorization,
  newDigest,
  newIdentifier,
  newSession,
  newSubject,
  reservingChange
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refusedWith } from "./Refused.ts"
import {
  appendAndLoad,
  everyDue,
  newPlace,
  observe,
  PLENTY,
  recordMandate,
  type StoreIt
} from "./StoreUnderTest.ts"

/** A mandate with one of everything, due now. */
const recordAll = Effect.fn("recordAll")(function* (
  place: ReturnType<typeof newPlace>,
  authorization: string,
  key: string
) {
  const current = yield* recordMandate(place)
  const change = reservingChange(current, [newAuthorization(1, current.now, { id: authorization })], {
    nextDue: current.now,
    sessions: [newSession(current)],
    subject: { reference: place.subjectReference, expected: "absent", next: newSubject() },
    claims: [claimOf("idempotency_key", key)]
  })
  return { change, current: yield* appendAndLoad(change) }
})

export const tenantContract = (it: StoreIt): void => {
  it.describe("tenants", () => {
    it.effect("another organization's identifiers are absent in every operation", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const subjects = yield* SubjectStore
        const owner = newPlace()
        const authorization = newIdentifier("aut_")
        const key = newDigest()
        const { change } = yield* recordAll(owner, authorization, key)
        const { stream: foreign } = yield* recordMandate()
        const { organization } = foreign
        const { mandate, subjectReference } = owner
        const { id: approvalSession, tokenHash: approvalTokenHash } = change.sessions[0]!
        const before = yield* observe(change)

        for (const stream of [{ mandate }, { authorization }, { approvalSession }, { approvalTokenHash }]) {
          const loaded = yield* store.load({ organization, stream, claims: change.claims, approval: true })
          assert.deepStrictEqual(loaded, { now: loaded.now, held: [] })
        }
        const own = { mandate: foreign.state.mandate.terms.mandate_id }
        const beside = yield* store.load({
          organization,
          stream: own,
          authorizations: [authorization],
          approval: true
        })
        assert.strictEqual(beside.stream?.state.authorizations.size, 0)
        assert.notProperty(beside.stream, "subject")
        const mandates = yield* store.listMandates({ organization, limit: PLENTY })
        assert.deepStrictEqual([mandates.mandates, mandates.due], [[foreign.state.mandate], []])
        const filtered = yield* store.listMandates({ organization, subjectReference, limit: PLENTY })
        assert.deepStrictEqual([filtered.mandates, filtered.due], [[], []])
        assert.isUndefined(yield* store.listAuthorizations({ organization, mandate, limit: PLENTY }))
        const range = { organization, mandate, afterSeq: 0, uptoSeq: PLENTY, limit: PLENTY }
        assert.deepStrictEqual(yield* store.journal(range), [])
        assert.isUndefined((yield* subjects.load({ organization, subjectReference })).subject)
        const replace = subjects.replace({ organization, subjectReference, expected: 1, next: newSubject() })
        yield* refusedWith("Stale", "replace", replace)
        const terms = { ...change.mandateState.terms, organization_id: organization }
        const hijack = {
          ...change,
          organization,
          expected: 2,
          mandateState: { ...change.mandateState, terms }
        }
        const sessions = change.sessions.map((session) => ({ ...session, organizationId: organization }))
        yield* refusedWith("Stale", "append", store.append({ ...hijack, sessions }))

        assert.deepStrictEqual(yield* observe(change), before)
      })
    )

    it.effect("two organizations may use the same identifiers, and neither sees the other", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const subjects = yield* SubjectStore
        const { organization: _, ...shared } = newPlace()
        const authorization = newIdentifier("aut_")
        const key = newDigest()
        const one = yield* recordAll(newPlace(shared), authorization, key)
        const other = yield* recordAll(newPlace(shared), authorization, key)
        for (const { change, current } of [one, other]) {
          const { organization } = change
          const { held, stream } = yield* store.load({
            organization,
            stream: { authorization },
            claims: [{ kind: "idempotency_key", name: key }],
            approval: true
          })
          assert.deepStrictEqual(held, [change.claims[0]!])
          assert.deepStrictEqual(stream?.head, current.stream.head)
          assert.deepStrictEqual(stream?.state.authorizations.get(authorization), change.authorizations[0])
          assert.deepStrictEqual(stream?.session, change.sessions[0])
          assert.strictEqual(stream?.subject?.userHandle, change.subject!.next.userHandle)
          const { subject } = yield* subjects.load({
            organization,
            subjectReference: shared.subjectReference
          })
          assert.strictEqual(subject?.userHandle, change.subject!.next.userHandle)
          const byToken = yield* store.load({
            stream: { approvalTokenHash: change.sessions[0]!.tokenHash }
          })
          assert.strictEqual(byToken.stream?.organization, organization)
          const list = yield* store.listAuthorizations({ ...change, limit: PLENTY })
          assert.deepStrictEqual(list?.authorizations, change.authorizations)
          const texts = yield* store.journal({ ...change, afterSeq: 1, uptoSeq: 2, limit: PLENTY })
          assert.deepStrictEqual(
            texts,
            change.events.map(({ text }) => text)
          )
          const due = (yield* everyDue).filter((stream) => stream.mandate === shared.mandate)
          assert.deepInclude(due, { organization, mandate: shared.mandate })
        }
        const strange = yield* store.load({
          organization: one.change.organization,
          stream: { approvalTokenHash: other.change.sessions[0]!.tokenHash }
        })
        assert.notProperty(strange, "stream")
        const before = yield* observe(other.change)
        yield* store.append(followingChange(one.current, [], { nextDue: undefined }))
        assert.deepStrictEqual(yield* observe(other.change), before)
      })
    )
  })
}
