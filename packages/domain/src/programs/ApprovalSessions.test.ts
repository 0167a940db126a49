import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonObject } from "@svc/protocol/json/Json"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { harnessOrganization, makeCaller, storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  approveWith,
  assertionFor,
  browserOf,
  callerOf,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  sessionBody,
  tokenOf,
  watchedAppends
} from "../../test/ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "../../test/MemoryPrograms.ts"
import { secretHash } from "../approval/BearerSecret.ts"
import type { Organization } from "../organization/Organization.ts"
import { IdentityVerifier } from "../ports/IdentityVerifier.ts"
import { ClaimTaken, MandateStore } from "../ports/MandateStore.ts"
import { Organizations } from "../ports/Organizations.ts"
import { SealBroken, SecretSealer } from "../ports/SecretSealer.ts"
import { APPROVAL_TOKEN_BYTES, createApprovalSession } from "./ApprovalSessions.ts"
import { declineMandate } from "./ceremony/DeclineMandate.ts"
import { openApprovalPage } from "./ceremony/OpenApprovalPage.ts"
import { listPasskeys, retirePasskey } from "./Passkeys.ts"

const caller = callerOf()

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const putOnRecord = (organization: Organization) =>
  Organizations.use((organizations) => organizations.put(organization))

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
        expires_at: "2026-12-01T00:05:00.000000000Z"
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

  it.effect("is closed once its mandate is revoked", () =>
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

  it.effect("shows its present state in a replay, without its address", () =>
    Effect.gen(function* () {
      const first = yield* newPendingMandate(caller)
      const device = newDevice()
      const ends = {
        COMPLETED: (session: { readonly approval_url?: string }) => approveWith(session, device),
        REJECTED: (session: { readonly approval_url?: string }) => {
          const browser = browserOf(session)
          return Effect.andThen(browser.ceremony(), () => declineMandate(browser.bearer()))
        }
      } as const
      for (const [state, end] of Object.entries(ends)) {
        const mandate = state === "COMPLETED" ? first : yield* pendingMandate(caller)
        const body = sessionBody(yield* assertionFor())
        const { resource } = yield* open(mandate, body, state)
        yield* end(resource)
        yield* TestClock.adjust("6 minutes")
        const { approval_url: _, ...rest } = resource
        const replay = yield* open(mandate, body, state)
        assert.deepStrictEqual(replay as unknown, { resource: { ...rest, state }, replayed: true })
        const events = yield* storedJournal(caller.organization.id, mandate)
        assert.strictEqual(events.length, 2)
        assert.strictEqual(
          yield* tagOf(open(mandate, { ...body, return_state: "another state of 16" }, state)),
          "IdempotencyKeyReused"
        )
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("ends at the approval deadline, and the mandate with it", () =>
    Effect.gen(function* () {
      yield* newPendingMandate(caller)
      const mandate = yield* pendingMandate(caller, { approval_deadline: "2026-12-01T00:01:00Z" })
      const body = sessionBody(yield* assertionFor())
      const { resource } = yield* open(mandate, body, "deadline")
      const token = tokenOf(resource)
      yield* TestClock.adjust("59999 millis")
      const shown = yield* openApprovalPage({ token, language: "en" })
      assert.strictEqual(shown.expiresAt - shown.now, 1_000_000n)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* tagOf(openApprovalPage({ token, language: "en" })), "ApprovalSessionClosed")
      const events = yield* storedJournal(caller.organization.id, mandate)
      assert.strictEqual(JSON.parse(events[1] ?? "{}").type, "mandate.expired")
      assert.strictEqual((yield* open(mandate, body, "deadline")).resource.state, "EXPIRED")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("does not supersede an earlier session that had already expired", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      yield* open(mandate, body, "expired")
      yield* TestClock.adjust("5 minutes")
      yield* openSession(caller, mandate)
      assert.strictEqual((yield* open(mandate, body, "expired")).resource.state, "EXPIRED")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("keeps its token as a hash, and sealed for itself alone", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      const sealer = yield* SecretSealer
      const mandates = [yield* newPendingMandate(caller), yield* pendingMandate(caller)]
      const tokens = new Set<string>()
      const stored: Array<{ readonly id: string; readonly sealedToken: string }> = []
      for (const mandate of mandates) {
        const text = Redacted.value(tokenOf(yield* openSession(caller, mandate)))
        tokens.add(text)
        assert.strictEqual(decodeBase64Url(text)?.length, APPROVAL_TOKEN_BYTES)
        const query = { organization: caller.organization.id, stream: { mandate }, approval: true } as const
        const session = (yield* store.load(query)).stream?.session
        if (session === undefined) return assert.fail("no session")
        assert.strictEqual(session.tokenHash, secretHash(Redacted.make(text)))
        assert.notInclude(
          JSON.stringify(session, (_, value) => (typeof value === "bigint" ? "" : value)),
          text
        )
        stored.push(session)
      }
      assert.strictEqual(tokens.size, mandates.length)
      const [one, two] = stored
      const opened = (row: string | undefined, organization: string = caller.organization.id) =>
        Effect.result(
          sealer.open(
            { purpose: "approval_token", organization, row: row ?? "", version: 1 },
            one?.sealedToken ?? ""
          )
        )
      assert.isTrue(Result.isSuccess(yield* opened(one?.id)))
      assert.isTrue(Result.isFailure(yield* opened(two?.id)))
      assert.isTrue(Result.isFailure(yield* opened(one?.id, "org_01jdyyyyyyyyyyyyyyyyyyyyyy")))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is opened once by 64 concurrent requests under one key", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      const answers = yield* Effect.all(
        Array.from({ length: 64 }, () => open(mandate, body, "k")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map(({ resource }) => JSON.stringify(resource))).size, 1)
      assert.strictEqual(answers.filter(({ replayed }) => !replayed).length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("is of one mandate: its key is used up for every other", () =>
    Effect.gen(function* () {
      const first = yield* newPendingMandate(caller)
      const second = yield* pendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      yield* open(first, body, "k")
      assert.strictEqual(yield* tagOf(open(second, body, "k")), "IdempotencyKeyReused")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is recorded while the one that it supersedes is open, and not after that", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      yield* openSession(caller, mandate)
      yield* TestClock.adjust("298 seconds")
      const { changes, layer } = yield* watchedAppends
      yield* Effect.provide(openSession(caller, mandate), layer)
      const superseded = changes[0]!.sessions.find(({ state }) => state !== "OPEN")
      assert.strictEqual(changes[0]!.recordBefore, superseded!.expiresAt)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is opened all the same if another request claims its key and then gives it up", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const { changes, layer } = yield* watchedAppends
      const store = yield* Effect.provide(MandateStore, layer)
      let isFirst = true
      const taken = MandateStore.of({
        ...store,
        append: (change) => {
          if (!isFirst) return store.append(change)
          isFirst = false
          const { kind, name } = change.claims[0]!
          const holder = { fingerprint: "", resource: "" }
          return Effect.fail(new ClaimTaken({ kind, name, holder }))
        }
      })
      const { replayed } = yield* open(mandate, sessionBody(yield* assertionFor()), "k").pipe(
        Effect.provideService(MandateStore, taken)
      )
      assert.isFalse(replayed)
      assert.lengthOf(changes, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is not shown, and to be asked for again, while its token does not open", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const body = sessionBody(yield* assertionFor())
      yield* open(mandate, body, "k")
      const sealer = yield* SecretSealer
      const broken = { ...sealer, open: () => Effect.fail(new SealBroken({ purpose: "approval_token" })) }
      const refused = Effect.flip(Effect.provideService(open(mandate, body, "k"), SecretSealer, broken))
      assert.deepInclude(yield* refused, { _tag: "StoreUnavailable" })
      assert.isTrue((yield* open(mandate, body, "k")).replayed)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is the only open one after concurrent requests under many keys", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const asked: Array<readonly [JsonObject, string]> = []
      for (let number = 0; number < 12; number++) {
        asked.push([sessionBody(yield* assertionFor()), `key-${number}-of-many`])
      }
      const made = yield* Effect.all(
        asked.map(([body, key]) => open(mandate, body, key)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(made.every(({ replayed }) => !replayed))
      const states: Array<string> = []
      for (const [body, key] of asked) states.push((yield* open(mandate, body, key)).resource.state)
      assert.deepStrictEqual(states.toSorted(), ["OPEN", ...Array.from({ length: 11 }, () => "SUPERSEDED")])
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("is decided by the settings on record, whatever the caller says of them", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const lenient = { ...caller.organization, returnOrigins: ["https://evil.example"] }
      const body = sessionBody(yield* assertionFor(), { return_url: "https://evil.example/" })
      const write = { organization: lenient, idempotencyKey: "k", body }
      const refused = createApprovalSession({ ...write, mandateId: mandate })
      assert.strictEqual(yield* tagOf(refused), "ReturnUrlNotAllowed")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is refused for an organization that is not on record", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tagOf(open("mnd_x", sessionBody("x"))), "OrganizationUnknown")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is a state conflict for a mandate that does not await approval", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      yield* TestClock.adjust("1 day")
      const refused = yield* Effect.flip(openSession(caller, mandate))
      assert.deepInclude(refused, {
        _tag: "StateConflict",
        currentState: "EXPIRED",
        resourceId: mandate,
        needed: ["PENDING_APPROVAL"]
      })
      assert.strictEqual((yield* storedJournal(caller.organization.id, mandate)).length, 2)
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("order of checks", () => {
  /** In their order: what each fault is answered with. */
  const LADDER = [
    ["schema", "ValidationFailed"],
    ["resource", "NotFound"],
    ["return_url", "ReturnUrlNotAllowed"],
    ["state", "StateConflict"],
    ["assertion", "IdentityAssertionInvalid"],
    ["subject", "SubjectMismatch"],
    ["enrolment", "EnrolmentNotAllowed"],
    ["jti", "AssertionReplayed"]
  ] as const
  type Fault = (typeof LADDER)[number][0]

  it.effect(
    "schema, resource, return_url, state, assertion, subject, enrolment, jti, whatever else is wrong",
    () =>
      Effect.gen(function* () {
        const waiting = yield* newPendingMandate(caller)
        const revoked = yield* pendingMandate(caller)
        yield* caller.revoke(revoked)
        yield* open(waiting, sessionBody(yield* assertionFor({ jti: "used" })))
        const strict = callerOf({ passkeyEnrolment: "CALLER_ALLOWED" })

        const attempt = Effect.fnUntraced(function* (faults: ReadonlySet<Fault>) {
          const assertion = yield* assertionFor({
            ...(faults.has("subject") ? { subject: "user_9" } : {}),
            ...(faults.has("jti") ? { jti: "used" } : {})
          })
          const body = sessionBody(faults.has("assertion") ? `${assertion.slice(0, -4)}AAAA` : assertion, {
            ...(faults.has("return_url") ? { return_url: "https://evil.example/" } : {}),
            ...(faults.has("schema") ? { return_state: "short" } : {})
          })
          const known = faults.has("state") ? revoked : waiting
          const mandateId = faults.has("resource") ? "mnd_00000000000000000000000000" : known
          const { organization, write } = faults.has("enrolment") ? strict : caller
          yield* putOnRecord(organization)
          return yield* createApprovalSession({ ...write(body), mandateId })
        })

        const combinations = 2 ** LADDER.length
        for (let combination = 1; combination < combinations; combination++) {
          const wrong = LADDER.filter((_, index) => (combination & (1 << index)) !== 0)
          const faults = new Set(wrong.map(([fault]) => fault))
          assert.strictEqual(yield* tagOf(attempt(faults)), wrong[0]?.[1], [...faults].join(" + "))
        }
        assert.strictEqual((yield* attempt(new Set())).resource.state, "OPEN")
        for (const mandate of [waiting, revoked]) {
          const events = yield* storedJournal(caller.organization.id, mandate)
          assert.strictEqual(events.length, mandate === waiting ? 1 : 2)
        }
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a refusal uses up neither the jti nor the key", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const assertion = yield* assertionFor()
      const evil = sessionBody(assertion, { return_url: "https://evil.example/" })
      assert.strictEqual(yield* tagOf(open(mandate, evil, "k")), "ReturnUrlNotAllowed")
      const strict = callerOf({ passkeyEnrolment: "CALLER_ALLOWED" })
      yield* putOnRecord(strict.organization)
      const refused = createApprovalSession({
        ...strict.write(sessionBody(assertion), "k"),
        mandateId: mandate
      })
      assert.strictEqual(yield* tagOf(refused), "EnrolmentNotAllowed")
      yield* putOnRecord(caller.organization)
      assert.isFalse((yield* open(mandate, sessionBody(assertion), "k")).replayed)
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
        yield* putOnRecord(caller.organization)
        assert.strictEqual(yield* tagOf(open("mnd_x", sessionBody("x", parts))), "ValidationFailed")
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }
})

describe("identity assertions", () => {
  it.effect(
    "an assertion is refused under a second key, but not in the replay of its own (mosip/esignet#2418)",
    () =>
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

  const verified = {
    issuer: "https://id.example",
    subject: "user_8f2",
    jti: "jti",
    expiresAt: 1_800_000_000_000_000_000n,
    enrolmentAllowed: true
  }
  it.effect.each<readonly [string, object]>([
    ["a jti with U+0000", { jti: "a\u0000" }],
    ["an empty jti", { jti: "" }],
    ["no jti", { jti: undefined }],
    ["a jti of 256 characters", { jti: "a".repeat(256) }],
    ["a lone surrogate in its subject", { subject: "\ud800" }],
    ["a lone surrogate in its issuer", { issuer: "\ud800" }],
    ["an issuer that is no text", { issuer: 5 }],
    ["an expiry that is no instant", { expiresAt: Number.NaN }],
    ["an expiry in a number", { expiresAt: 1_800_000_000_000_000_000 }],
    ["an expiry beyond the year 9999", { expiresAt: 10n ** 21n }]
  ])("an assertion with %s is refused, whatever its verifier says", ([, parts]) =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const lenient = { verify: () => Effect.succeed({ ...verified, ...parts }) }
      const refused = open(mandate, sessionBody("text")).pipe(
        Effect.provideService(IdentityVerifier, lenient)
      )
      assert.strictEqual(yield* tagOf(refused), "IdentityAssertionInvalid")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a jti is used up until an hour after its assertion's expiry", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const { changes, layer } = yield* watchedAppends
      yield* open(mandate, sessionBody("text")).pipe(
        Effect.provideService(IdentityVerifier, { verify: () => Effect.succeed(verified) }),
        Effect.provide(layer)
      )
      const claim = changes[0]!.claims.find(({ kind }) => kind === "assertion")
      assert.strictEqual(claim?.name, "jti")
      assert.strictEqual(claim?.expiresAt, verified.expiresAt + 3600n * NANOS_PER_SECOND)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("an organization without an identity accepts none, and is told why", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const nameless = makeCaller(harnessOrganization())
      yield* putOnRecord(nameless.organization)
      const body = sessionBody(yield* assertionFor())
      const refused = yield* Effect.flip(
        createApprovalSession({ ...nameless.write(body), mandateId: mandate })
      )
      if (refused._tag !== "IdentityAssertionInvalid") return assert.fail(refused._tag)
      assert.include(refused.detail, "settings")
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

  const notTrue = [false, "true", "TRUE", 1, null, [true], { svc_enrol: true }]
  for (const [title, settings] of [
    ["CALLER_ALLOWED", { passkeyEnrolment: "CALLER_ALLOWED" }],
    ["FIRST_USE, once the last passkey was retired,", { passkeyEnrolment: "FIRST_USE" }]
  ] as const) {
    it.effect(`${title} takes svc_enrol: true and nothing like it`, () =>
      Effect.gen(function* () {
        const mine = callerOf(settings)
        const subject = { organization: mine.organization.id, subjectReference: "user_8f2" }
        const first = yield* newPendingMandate(mine)
        yield* approveWith(yield* openSession(mine, first, { enrol: true }), newDevice())
        const { data } = yield* listPasskeys({ ...subject, limit: 9 })
        yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
        const mandate = yield* pendingMandate(mine)
        assert.strictEqual(yield* tagOf(openSession(mine, mandate)), "EnrolmentNotAllowed")
        for (const svc_enrol of notTrue) {
          assert.strictEqual(
            yield* tagOf(openSession(mine, mandate, { overrides: { claims: { svc_enrol } } })),
            "EnrolmentNotAllowed",
            JSON.stringify(svc_enrol)
          )
        }
        yield* approveWith(yield* openSession(mine, mandate, { enrol: true }), newDevice())
        assert.strictEqual((yield* mine.read(mandate)).state, "ACTIVE")
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("a claim where the subject has a passkey lets nobody make another", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      yield* approveWith(yield* openSession(caller, mandate), newDevice())
      const second = yield* pendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, second, { enrol: true }))
      const step = yield* browser.ceremony()
      assert.strictEqual(step.step, "approve")
      const made = newDevice().register({
        challenge: String(step.options.challenge),
        rp: { id: "approve.svc.test" },
        user: { id: "AAAA" },
        pubKeyCredParams: [{ alg: -7 }]
      })
      assert.strictEqual(yield* tagOf(browser.register(made)), "EnrolmentNotAllowed")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
