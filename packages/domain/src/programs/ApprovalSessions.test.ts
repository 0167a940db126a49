import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "@svc/protocol/Json"
import { harnessOrganization, makeCaller, storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  approveWith,
  assertionFor,
  callerOf,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  sessionBody,
  tokenOf
} from "../../test/ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "../../test/MemoryPrograms.ts"
import { openApprovalPage } from "./ApprovalCeremony.ts"
import { createApprovalSession } from "./ApprovalSessions.ts"
import { listPasskeys, retirePasskey } from "./Passkeys.ts"

const caller = callerOf()

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const open = (mandateId: string, body: JsonObject, key?: string) =>
  createApprovalSession({ ...caller.write(body, key), mandateId })

describe("an approval session", () => {
  it.effect("is OPEN for five minutes, and shows its address only then", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      const { resource } = yield* open(mandate, body, "k")
      const { id, approval_url, ...rest } = resource
      assert.match(id, /^aps_[0-9a-hjkmnp-tv-z]{26}$/)
      assert.match(approval_url ?? "", /^https:\/\/approve\.svc\.test\/approve\/[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(rest as unknown, {
        mandate_id: mandate,
        state: "OPEN",
        created_at: "2026-12-01T00:00:00.000000000Z",
        expires_at: "2026-12-01T00:05:00Z"
      })
      const replay = yield* open(mandate, body, "k")
      assert.deepStrictEqual([replay.replayed, replay.resource], [true, resource])
      yield* TestClock.adjust("299999 millis")
      assert.strictEqual((yield* open(mandate, body, "k")).resource.state, "OPEN")
      yield* TestClock.adjust("1 millis")
      const expired = yield* open(mandate, body, "k")
      assert.strictEqual(expired.resource.state, "EXPIRED")
      assert.notProperty(expired.resource, "approval_url")
      assert.strictEqual((yield* storedJournal(caller.organization.id, mandate)).length, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("never lasts beyond the approval deadline", () =>
    Effect.gen(function* () {
      yield* newPendingMandate(caller)
      const mandate = yield* pendingMandate(caller, { approval_deadline: "2026-12-01T00:01:00Z" })
      const session = yield* openSession(caller, mandate)
      assert.strictEqual(session.expires_at, "2026-12-01T00:01:00Z")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("supersedes the earlier open one in the same write", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      const first = yield* open(mandate, body, "k")
      const second = yield* openSession(caller, mandate)
      assert.strictEqual((yield* open(mandate, body, "k")).resource.state, "SUPERSEDED")
      const page = (session: { readonly approval_url?: string }) =>
        openApprovalPage({ token: tokenOf(session), language: "en" })
      assert.strictEqual(yield* tagOf(page(first.resource)), "ApprovalSessionClosed")
      assert.strictEqual((yield* page(second)).organizationName, "Ağaç & Söhne")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("ends with its mandate's wait: revoked, it is closed", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      const { resource } = yield* open(mandate, body, "k")
      yield* caller.revoke(mandate)
      assert.strictEqual((yield* open(mandate, body, "k")).resource.state, "EXPIRED")
      assert.strictEqual(
        yield* tagOf(openApprovalPage({ token: tokenOf(resource), language: "en" })),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("of a mandate that does not wait is a conflict, told from what is recorded", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      yield* TestClock.adjust("1 day")
      const refused = yield* Effect.flip(openSession(caller, mandate))
      assert.deepInclude(refused, { _tag: "StateConflict", currentState: "EXPIRED", resourceId: mandate })
      assert.strictEqual((yield* storedJournal(caller.organization.id, mandate)).length, 2)
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("order of checks", () => {
  it.effect("schema, resource, return_url, state, assertion, subject, enrolment, jti", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const good = yield* assertionFor({ jti: "used" })
      yield* open(mandate, sessionBody(good))
      const evil = { return_url: "https://evil.example/" }
      const strict = callerOf({ passkeyEnrolment: "CALLER_ALLOWED" })
      const strictly = (body: JsonObject) =>
        createApprovalSession({ ...strict.write(body), mandateId: mandate })
      assert.strictEqual(
        yield* tagOf(open("mnd_x", { ...sessionBody("x", evil), return_state: "short" })),
        "ValidationFailed"
      )
      assert.strictEqual(yield* tagOf(open("mnd_x", sessionBody("x", evil))), "NotFound")
      assert.strictEqual(yield* tagOf(open(mandate, sessionBody("x", evil))), "ReturnUrlNotAllowed")
      assert.strictEqual(yield* tagOf(open(mandate, sessionBody("x"))), "IdentityAssertionInvalid")
      const other = yield* assertionFor({ subject: "user_9", jti: "used" })
      assert.strictEqual(yield* tagOf(strictly(sessionBody(other))), "SubjectMismatch")
      assert.strictEqual(yield* tagOf(strictly(sessionBody(good))), "EnrolmentNotAllowed")
      assert.strictEqual(yield* tagOf(open(mandate, sessionBody(good))), "AssertionReplayed")
      yield* caller.revoke(mandate)
      assert.strictEqual(yield* tagOf(open(mandate, sessionBody("x", evil))), "ReturnUrlNotAllowed")
      assert.strictEqual(yield* tagOf(open(mandate, sessionBody("x"))), "StateConflict")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  const bodies: Readonly<Record<string, JsonObject>> = {
    "return_state of 15 characters": { return_state: "a".repeat(15) },
    "return_state of 513 characters": { return_state: "a".repeat(513) },
    "return_url of 2049 characters": { return_url: `https://shop.example/${"a".repeat(2028)}` },
    "an unknown member": { state: "OPEN" }
  }
  for (const [title, parts] of Object.entries(bodies)) {
    it.effect(`refuses ${title}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* tagOf(open("mnd_x", sessionBody("x", parts))), "ValidationFailed")
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }
})

describe("identity assertions", () => {
  it.effect("esignet 2418: one under two keys, the second is refused; its own replay is not", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      yield* open(mandate, body, "k")
      assert.strictEqual(yield* tagOf(open(mandate, body, "k2")), "AssertionReplayed")
      assert.isTrue((yield* open(mandate, body, "k")).replayed)
      yield* TestClock.adjust("1 hour")
      assert.isTrue((yield* open(mandate, body, "k")).replayed)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a jti raced makes one session", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      const raced = yield* Effect.all(
        Array.from({ length: 20 }, () => Effect.result(open(mandate, body))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(raced.filter(Result.isSuccess).length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("a jti is free in another organization", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      yield* open(mandate, body)
      const other = callerOf({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" })
      const theirs = yield* pendingMandate(other)
      const session = yield* createApprovalSession({ ...other.write(body), mandateId: theirs })
      assert.strictEqual(session.resource.state, "OPEN")
      assert.strictEqual(
        yield* tagOf(createApprovalSession({ ...other.write(body), mandateId: mandate })),
        "NotFound"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("an organization without an identity accepts none", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const nameless = makeCaller(harnessOrganization())
      const body = sessionBody(yield* assertionFor())
      assert.strictEqual(
        yield* tagOf(createApprovalSession({ ...nameless.write(body), mandateId: mandate })),
        "IdentityAssertionInvalid"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("enrolment", () => {
  it.effect("CALLER_ALLOWED needs the claim, until the subject has a passkey", () =>
    Effect.gen(function* () {
      const strict = callerOf({ passkeyEnrolment: "CALLER_ALLOWED" })
      const mandate = yield* newPendingMandate(strict)
      assert.strictEqual(yield* tagOf(openSession(strict, mandate)), "EnrolmentNotAllowed")
      yield* approveWith(yield* openSession(strict, mandate, { enrol: true }), newDevice())
      const second = yield* pendingMandate(strict)
      assert.strictEqual((yield* openSession(strict, second)).state, "OPEN")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("after the last passkey was retired it always needs the claim", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      yield* approveWith(yield* openSession(caller, mandate), newDevice())
      const subject = { organization: caller.organization.id, subjectReference: "user_8f2" }
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      assert.strictEqual(data.length, 1)
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      assert.deepStrictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data, [])
      assert.strictEqual(
        yield* tagOf(retirePasskey({ ...subject, passkeyId: "psk_00000000000000000000000000" })),
        "NotFound"
      )
      assert.strictEqual(
        yield* tagOf(
          retirePasskey({
            organization: "org_01jdyyyyyyyyyyyyyyyyyyyyyy",
            subjectReference: "user_8f2",
            passkeyId: data[0]?.id ?? ""
          })
        ),
        "NotFound"
      )
      const second = yield* pendingMandate(caller)
      assert.strictEqual(yield* tagOf(openSession(caller, second)), "EnrolmentNotAllowed")
      yield* approveWith(yield* openSession(caller, second, { enrol: true }), newDevice())
      assert.strictEqual((yield* caller.read(second)).state, "ACTIVE")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
