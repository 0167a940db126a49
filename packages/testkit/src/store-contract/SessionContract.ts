import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Effect } from "effect"
import { followingChange, HOUR, newDigest, newIdentifier, newSession, newSubject } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { appendAndLoad, recordMandate, type StoreIt } from "./StoreUnderTest.ts"

const byToken = (tokenHash: string) =>
  Effect.gen(function* () {
    const store = yield* MandateStore
    return (yield* store.load({ stream: { approvalTokenHash: tokenHash }, approval: true })).stream
  })

export const sessionContract = (it: StoreIt): void => {
  it.describe("approval sessions", () => {
    it.effect("a token finds its stream and names the organization", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const session = newSession(current)
        const { stream } = yield* appendAndLoad(followingChange(current, [], { sessions: [session] }))
        assert.deepStrictEqual(yield* byToken(session.tokenHash), stream)
        const { organization } = stream
        const reference = { approvalTokenHash: session.tokenHash }
        const named = yield* store.load({ organization, stream: reference, approval: true })
        assert.deepStrictEqual(named.stream, stream)
        const bare = yield* store.load({ stream: reference })
        assert.notProperty(bare.stream, "session")
        assert.strictEqual(bare.stream?.organization, organization)
        const other = yield* store.load({ organization: newIdentifier("org_"), stream: reference })
        assert.notProperty(other, "stream")
        assert.isUndefined(yield* byToken(newDigest()))
      })
    )

    it.effect("an identifier finds its stream and session, in its own organization", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const start = yield* recordMandate()
        const [older, newest] = [newSession(start), newSession(start)]
        const { stream } = yield* appendAndLoad(followingChange(start, [], { sessions: [older, newest] }))
        const { organization } = stream
        const load = (approvalSession: string, at = organization) =>
          store.load({ organization: at, stream: { approvalSession }, approval: true })
        assert.deepStrictEqual((yield* load(newest.id)).stream, stream)
        assert.deepStrictEqual((yield* load(older.id)).stream, { ...stream, session: older })
        const bare = yield* store.load({ organization, stream: { approvalSession: older.id } })
        assert.notProperty(bare.stream, "session")
        for (const absent of [newIdentifier("aps_"), "", older.tokenHash]) {
          assert.notProperty(yield* load(absent), "stream")
        }
        assert.notProperty(yield* load(older.id, newIdentifier("org_")), "stream")
      })
    )

    it.effect("a token finds its session whatever the state of either", () =>
      Effect.gen(function* () {
        let current = yield* recordMandate()
        let session = newSession(current, { expiresAt: current.now - HOUR })
        for (const state of ["OPEN", "COMPLETED", "REJECTED", "SUPERSEDED"] as const) {
          session = { ...session, state }
          current = yield* appendAndLoad(followingChange(current, [], { sessions: [session] }))
          assert.deepStrictEqual((yield* byToken(session.tokenHash))?.session, session)
        }
      })
    )

    it.effect(
      "the newest session is the one added last, whichever changed since and whatever its times",
      () =>
        Effect.gen(function* () {
          const start = yield* recordMandate()
          const first = newSession(start)
          const one = yield* appendAndLoad(followingChange(start, [], { sessions: [first] }))
          const superseded = { ...first, state: "SUPERSEDED" as const }
          const second = newSession(one, { createdAt: first.createdAt - HOUR })
          const two = yield* appendAndLoad(followingChange(one, [], { sessions: [superseded, second] }))
          assert.deepStrictEqual(two.stream.session, second)
          const bound = { ...superseded, boundTo: newDigest() }
          const three = yield* appendAndLoad(followingChange(two, [], { sessions: [bound] }))
          assert.deepStrictEqual(three.stream.session, second)
          assert.deepStrictEqual((yield* byToken(first.tokenHash))?.session, bound)
          assert.deepStrictEqual((yield* byToken(second.tokenHash))?.session, second)
        })
    )

    it.effect("a session may be made in the write that makes its mandate's subject", () =>
      Effect.gen(function* () {
        const start = yield* recordMandate()
        assert.notProperty(start.stream, "session")
        assert.notProperty(start.stream, "subject")
        const reference = start.stream.state.mandate.terms.subject_reference
        const session = newSession(start)
        const next = newSubject()
        const change = followingChange(start, [], {
          sessions: [session],
          subject: { reference, expected: "absent", next }
        })
        const { stream } = yield* appendAndLoad(change)
        assert.deepStrictEqual(stream.session, session)
        assert.deepStrictEqual(stream.subject, next)
        assert.deepStrictEqual(yield* byToken(session.tokenHash), stream)
      })
    )
  })
}
