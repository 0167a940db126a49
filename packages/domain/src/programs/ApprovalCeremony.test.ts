import { assert, describe, it } from "@effect/vitest"
import { approvalChallenge } from "@svc/protocol/ApprovalChallenge"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonObject, JsonValue } from "@svc/protocol/Json"
import { storedJournal } from "@svc/testkit/ProgramHarness"
import {
  FLAG_ATTESTED_CREDENTIAL,
  FLAG_BACKED_UP,
  FLAG_BACKUP_ELIGIBLE,
  FLAG_USER_PRESENT,
  FLAG_USER_VERIFIED,
  type Misbehaviour,
  makeSoftwarePasskey,
  type SoftwareAssertion
} from "@svc/testkit/SoftwarePasskey"
import { Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  approveWith,
  browserOf,
  callerOf,
  type Device,
  deviceWithCredential,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate
} from "../../test/ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "../../test/MemoryPrograms.ts"
import { beginCeremony, declineMandate, openApprovalPage } from "./ApprovalCeremony.ts"
import { listPasskeys, retirePasskey } from "./Passkeys.ts"

const caller = callerOf()
const organization = caller.organization.id
const subject = { organization, subjectReference: "user_8f2" }

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

const ORIGIN = "https://approve.svc.test"

/** A mandate, an open session, and a device whose passkey the subject already has. */
const enrolledWith = Effect.fnUntraced(function* (device: Device) {
  const first = yield* newPendingMandate(caller)
  yield* approveWith(yield* openSession(caller, first), device)
  const mandate = yield* pendingMandate(caller)
  const session = yield* openSession(caller, mandate)
  return { device, mandate, session, browser: browserOf(session) }
})

const enrolled = Effect.suspend(() => enrolledWith(newDevice()))

describe("what the browser is asked for", () => {
  it.effect("is a resident, verified passkey of this rp, and then the statement signed with it", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const session = yield* openSession(caller, mandate)
      const browser = browserOf(session)
      const register = yield* browser.ceremony()
      const { challenge, user, ...creation } = register.options as {
        readonly challenge: string
        readonly user: { readonly id: string }
      }
      assert.strictEqual(decodeBase64Url(challenge)?.length, 32)
      assert.strictEqual(decodeBase64Url(user.id)?.length, 32)
      assert.deepStrictEqual(creation as unknown, {
        rp: { id: "approve.svc.test", name: "Ağaç & Söhne" },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
        timeout: 300_000,
        excludeCredentials: [],
        authenticatorSelection: {
          residentKey: "required",
          requireResidentKey: true,
          userVerification: "required"
        },
        attestation: "none"
      })
      const device = newDevice()
      const created = device.register(register.options as never)
      yield* browser.register(created)
      yield* TestClock.adjust("10 seconds")
      const { options, statement } = yield* browser.ceremony()
      assert.deepStrictEqual(options as unknown, {
        challenge: encodeBase64Url(approvalChallenge(statement as unknown as JsonValue)),
        rpId: "approve.svc.test",
        timeout: 290_000,
        allowCredentials: [{ type: "public-key", id: created.id }],
        userVerification: "required"
      })
      const { display, nonce, policy, ...facts } = statement ?? assert.fail("no statement")
      assert.strictEqual(decodeBase64Url(nonce)?.length, 32)
      assert.strictEqual(display.locale, "en")
      const shown = yield* caller.read(mandate)
      assert.deepStrictEqual(policy, shown.policy)
      assert.deepStrictEqual(facts as unknown, {
        approval_session_id: session.id,
        environment: "test",
        organization_id: organization,
        organization_name: "Ağaç & Söhne",
        mandate_id: mandate,
        subject_reference: "user_8f2",
        kind: "SINGLE",
        policy_digest: shown.policy_digest,
        window: shown.window,
        approval_deadline: shown.approval_deadline
      })
      const again = yield* browser.ceremony()
      assert.notStrictEqual(again.statement?.nonce, nonce)
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("the first approval of a subject", () => {
  it.effect("registers, approves, and leaves the proof in the journal and the passkey with the subject", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const session = yield* openSession(caller, mandate)
      const browser = browserOf(session)
      const device = newDevice()
      const register = yield* browser.ceremony()
      assert.strictEqual(register.step, "register")
      assert.notProperty(register, "statement")
      const { passkey_id } = yield* browser.register(device.register(register.options as never))
      assert.deepStrictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data, [])
      const approve = yield* browser.ceremony()
      assert.strictEqual(approve.step, "approve")
      assert.notProperty(approve, "bind")
      const { redirect_to } = yield* browser.approve(device.authenticate(approve.options as never))
      assert.strictEqual(
        redirect_to,
        `https://shop.example/return?a=1&return_state=state+of+sixteen+characters&approval_session_id=${session.id}#top`
      )
      const shown = yield* caller.read(mandate)
      assert.deepStrictEqual(
        [shown.state, shown.version, shown.approved_at],
        ["ACTIVE", 2, "2026-12-01T00:00:00.000000000Z"]
      )
      const [, text] = yield* storedJournal(organization, mandate)
      const { approval } = JSON.parse(text ?? "").data as { readonly approval: JsonObject }
      const statement = approval.statement as JsonObject
      assert.deepStrictEqual(statement, approve.statement as unknown as JsonObject)
      const client = JSON.parse(
        atob(String(approval.client_data_json).replaceAll("-", "+").replaceAll("_", "/"))
      )
      assert.strictEqual(client.challenge, encodeBase64Url(approvalChallenge(statement as JsonValue)))
      assert.deepNestedInclude(approval, {
        rp_id: "approve.svc.test",
        origin: "https://approve.svc.test",
        "credential.passkey_id": passkey_id,
        "credential.enrolled_in_this_session": true,
        "credential.algorithm": -7
      })
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      assert.deepStrictEqual(data as unknown, [
        {
          id: passkey_id,
          created_at: "2026-12-01T00:00:00.000000000Z",
          last_used_at: "2026-12-01T00:00:00.000000000Z",
          backup_eligible: true
        }
      ])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a passkey on trial goes with its session", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      const step = yield* browser.ceremony()
      yield* browser.register(newDevice().register(step.options as never))
      const next = browserOf(yield* openSession(caller, mandate))
      assert.strictEqual((yield* next.ceremony()).step, "register")
      assert.deepStrictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a passkey on trial loses to one that the subject got meanwhile", () =>
    Effect.gen(function* () {
      const one = yield* newPendingMandate(caller)
      const two = yield* pendingMandate(caller)
      const [mine, other] = [newDevice(), newDevice()]
      const browser = browserOf(yield* openSession(caller, one))
      yield* browser.register(mine.register((yield* browser.ceremony()).options as never))
      const step = yield* browser.ceremony()
      yield* approveWith(yield* openSession(caller, two), other)
      assert.strictEqual(
        yield* tagOf(browser.approve(mine.authenticate(step.options as never))),
        "PasskeyVerificationFailed"
      )
      const again = yield* browser.ceremony()
      assert.strictEqual(again.step, "approve")
      yield* browser.approve(other.authenticate(again.options as never))
      assert.strictEqual((yield* caller.read(one)).state, "ACTIVE")
      assert.strictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data.length, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a subject that has a passkey creates no other", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const step = yield* browser.ceremony()
      assert.strictEqual(step.step, "approve")
      const made = newDevice().register({
        challenge: String(step.options.challenge),
        rp: { id: "approve.svc.test" },
        user: { id: "AAAA" },
        pubKeyCredParams: [{ alg: -7 }]
      })
      assert.strictEqual(yield* tagOf(browser.register(made)), "EnrolmentNotAllowed")
      yield* browser.approve(device.authenticate(step.options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("the browser that began", () => {
  it.effect("is the only one from then on", () =>
    Effect.gen(function* () {
      const { browser, device, session } = yield* enrolled
      const stranger = browserOf(session)
      assert.strictEqual(yield* tagOf(stranger.approve({})), "ApprovalSessionBound")
      assert.strictEqual(yield* tagOf(declineMandate(stranger.bearer())), "ApprovalSessionBound")
      const step = yield* browser.ceremony()
      assert.strictEqual(yield* tagOf(stranger.ceremony()), "ApprovalSessionBound")
      const guess = { token: browser.token, cookie: Redacted.make("guess"), language: "en" as const }
      assert.strictEqual(yield* tagOf(beginCeremony(guess)), "ApprovalSessionBound")
      const answer = device.authenticate(step.options as never)
      assert.strictEqual(yield* tagOf(stranger.approve(answer)), "ApprovalSessionBound")
      yield* browser.approve(answer)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is one of several that begin at once", () =>
    Effect.gen(function* () {
      const { session } = yield* enrolled
      const raced = yield* Effect.all(
        Array.from({ length: 10 }, () => Effect.result(browserOf(session).ceremony())),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(raced.filter(Result.isSuccess).length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("may look as often as it likes: looking spends nothing", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      for (let times = 0; times < 3; times++)
        yield* openApprovalPage({ token: browser.token, language: "en" })
      const step = yield* browser.ceremony()
      yield* openApprovalPage({ token: browser.token, language: "en" })
      yield* browser.approve(device.authenticate(step.options as never))
      assert.strictEqual(
        yield* tagOf(openApprovalPage({ token: browser.token, language: "en" })),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("a challenge", () => {
  it.effect("kirby 8261: serves one attempt: a bad signature, then a good one on the same is refused", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      const flipped = (signature: Uint8Array) => signature.map((byte, at) => (at === 20 ? byte ^ 1 : byte))
      const bad = device.authenticate(step.options as never, { signature: flipped })
      assert.strictEqual(yield* tagOf(browser.approve(bad)), "PasskeyVerificationFailed")
      const good = device.authenticate(step.options as never)
      assert.strictEqual(yield* tagOf(browser.approve(good)), "PasskeyVerificationFailed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
      const next = yield* browser.ceremony()
      yield* browser.approve(device.authenticate(next.options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is replaced by a new ceremony", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const old = yield* browser.ceremony()
      yield* browser.ceremony()
      assert.strictEqual(
        yield* tagOf(browser.approve(device.authenticate(old.options as never))),
        "PasskeyVerificationFailed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is not spent by a malformed body", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const step = yield* browser.ceremony()
      const answer = device.authenticate(step.options as never)
      for (const body of [{}, [], { ...answer, id: `${answer.id}=` }, { ...answer, type: "password" }]) {
        assert.strictEqual(yield* tagOf(browser.approve(body)), "ValidationFailed")
      }
      yield* browser.approve({ ...answer, unknown: 1 })
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("of another session does not serve", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const other = browserOf(yield* openSession(caller, yield* pendingMandate(caller)))
      const step = yield* browser.ceremony()
      yield* other.ceremony()
      const answer = device.authenticate(step.options as never)
      assert.strictEqual(yield* tagOf(other.approve(answer)), "PasskeyVerificationFailed")
      yield* browser.approve(answer)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("an answer sent twice at once approves once", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      const answer = device.authenticate(step.options as never)
      const raced = yield* Effect.all(
        [1, 2, 3].map(() => Effect.result(browser.approve(answer))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(raced.filter(Result.isSuccess).length, 1)
      assert.strictEqual((yield* storedJournal(organization, mandate)).length, 2)
    }).pipe(Effect.provide(racingPrograms()))
  )

  /** On record: a passkey that may be backed up, with a counter that counts. */
  const counting = () => makeSoftwarePasskey({ origin: ORIGIN, counter: 5 })
  const VERIFIED = FLAG_USER_PRESENT | FLAG_USER_VERIFIED
  const loosened = (text: string) => `${text.slice(0, -1)}${text.endsWith("B") ? "C" : "B"}`

  type Spoil = (answer: SoftwareAssertion) => unknown
  interface Faulty {
    readonly misbehaviour?: Misbehaviour
    readonly spoil?: Spoil
  }
  const inResponse =
    (member: keyof SoftwareAssertion["response"], change: (text: string) => string): Spoil =>
    (answer) => ({
      ...answer,
      response: { ...answer.response, [member]: change(answer.response[member] ?? "") }
    })

  /** What reaches verification and is refused there. */
  const faults: Readonly<Record<string, Faulty>> = {
    "another origin": { misbehaviour: { origin: "https://evil.example" } },
    "another port": { misbehaviour: { origin: `${ORIGIN}:8443` } },
    "the default port": { misbehaviour: { origin: `${ORIGIN}:443` } },
    http: { misbehaviour: { origin: "http://approve.svc.test" } },
    "a parent domain as rp id": { misbehaviour: { rpId: "svc.test" } },
    "another rp id": { misbehaviour: { rpId: "evil.example" } },
    "the type of a registration": { misbehaviour: { type: "webauthn.create" } },
    "another challenge": { misbehaviour: { challenge: "A".repeat(43) } },
    "cross-origin": { misbehaviour: { crossOrigin: true } },
    "a top origin": { misbehaviour: { topOrigin: "https://evil.example" } },
    "a top origin of its own": { misbehaviour: { topOrigin: ORIGIN } },
    "a user that was not verified": {
      misbehaviour: { flags: FLAG_USER_PRESENT | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP }
    },
    "a user that was not present": {
      misbehaviour: { flags: FLAG_USER_VERIFIED | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP }
    },
    "backed up without being eligible": { misbehaviour: { flags: VERIFIED | FLAG_BACKED_UP } },
    "another eligibility than at enrolment": { misbehaviour: { flags: VERIFIED } },
    "a counter that stands still": { misbehaviour: { counter: 5 } },
    "a counter that went back": { misbehaviour: { counter: 4 } },
    "a counter that was reset": { misbehaviour: { counter: 0 } },
    "another user's handle": { misbehaviour: { userHandle: "A".repeat(43) } },
    "another credential's id": { misbehaviour: { id: "A".repeat(43) } },
    "an id that is not the rawId": { spoil: (answer) => ({ ...answer, rawId: "A".repeat(43) }) },
    "a rawId that is not the id": { spoil: (answer) => ({ ...answer, id: "A".repeat(43) }) },
    "a signature of something else": { spoil: inResponse("signature", () => "MAYCAQECAQE") },
    "authenticator data that was not signed": {
      spoil: inResponse(
        "authenticatorData",
        (text) => `${text.slice(0, 44)}${text.slice(44).replace("A", "B")}`
      )
    },
    "authenticator data cut short": { spoil: inResponse("authenticatorData", (text) => text.slice(0, 40)) },
    "client data that is no JSON": { misbehaviour: { clientDataJson: () => "x" } },
    "a signature that is r then s": { misbehaviour: { signature: () => new Uint8Array(64).fill(1) } }
  }
  /** What never reaches it. */
  const malformed: Readonly<Record<string, Spoil>> = {
    "a padded id": (answer) => ({ ...answer, id: `${answer.id}=` }),
    "a padded rawId": (answer) => ({ ...answer, rawId: `${answer.rawId}=` }),
    "loose bits in the id": (answer) => ({ ...answer, id: loosened(answer.id), rawId: loosened(answer.id) }),
    "a padded signature": inResponse("signature", (text) => `${text}=`),
    "padded client data": inResponse("clientDataJSON", (text) => `${text}==`),
    "padded authenticator data": inResponse("authenticatorData", (text) => `${text}=`),
    "a padded user handle": inResponse("userHandle", (text) => `${text}=`),
    "loose bits in the user handle": inResponse("userHandle", loosened),
    "the other alphabet": inResponse("authenticatorData", (text) => `+/${text.slice(2)}`),
    "a line feed": inResponse("signature", (text) => `${text}\n`),
    "an empty signature": inResponse("signature", () => ""),
    "no client data": inResponse("clientDataJSON", () => ""),
    "another type of credential": (answer) => ({ ...answer, type: "password" })
  }

  for (const [title, { misbehaviour = {}, spoil = (answer: SoftwareAssertion) => answer }] of Object.entries(
    faults
  )) {
    it.effect(`is refused and spent with ${title}`, () =>
      Effect.gen(function* () {
        const { browser, device, mandate } = yield* enrolledWith(counting())
        const step = yield* browser.ceremony()
        const answer = spoil(device.authenticate(step.options as never, misbehaviour))
        assert.strictEqual(yield* tagOf(browser.approve(answer)), "PasskeyVerificationFailed")
        assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
        const honest = device.authenticate(step.options as never, { counter: 8 })
        assert.strictEqual(yield* tagOf(browser.approve(honest)), "PasskeyVerificationFailed")
        const next = yield* browser.ceremony()
        yield* browser.approve(device.authenticate(next.options as never, { counter: 8 }))
        assert.strictEqual((yield* storedJournal(organization, mandate)).length, 2)
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("is not spent by what is malformed", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolledWith(counting())
      const step = yield* browser.ceremony()
      const answer = device.authenticate(step.options as never)
      for (const [title, spoil] of Object.entries(malformed)) {
        assert.strictEqual(yield* tagOf(browser.approve(spoil(answer))), "ValidationFailed", title)
      }
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
      yield* browser.approve(answer)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is refused and spent with the passkey of another subject, and of another organization", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const others = [
        { caller, subject: "user_9" },
        { caller: callerOf({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }), subject: "user_8f2" }
      ]
      for (const other of others) {
        const theirs = newDevice()
        const theirMandate = yield* pendingMandate(other.caller, { subject_reference: other.subject })
        const session = yield* openSession(other.caller, theirMandate, { subject: other.subject })
        yield* approveWith(session, theirs)
        const step = yield* browser.ceremony()
        const { challenge, rpId } = step.options as { readonly challenge: string; readonly rpId: string }
        const foreign = theirs.authenticate({ challenge, rpId })
        assert.strictEqual(yield* tagOf(browser.approve(foreign)), "PasskeyVerificationFailed")
        const own = device.authenticate(step.options as never)
        assert.strictEqual(yield* tagOf(browser.approve(own)), "PasskeyVerificationFailed")
        const named = { challenge: String((yield* browser.ceremony()).options.challenge), rpId }
        const disguised = theirs.authenticate(named, {
          id: own.id,
          userHandle: own.response.userHandle ?? null
        })
        assert.strictEqual(yield* tagOf(browser.approve(disguised)), "PasskeyVerificationFailed")
      }
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("of a registration is refused and spent by what is no sound registration", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      const device = newDevice()
      const attested = FLAG_ATTESTED_CREDENTIAL | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP
      const registrationFaults: Readonly<Record<string, Misbehaviour>> = {
        origin: { origin: `${ORIGIN}:8443` },
        "rp id": { rpId: "svc.test" },
        type: { type: "webauthn.get" },
        challenge: { challenge: "A".repeat(43) },
        crossOrigin: { crossOrigin: true },
        topOrigin: { topOrigin: ORIGIN },
        "not verified": { flags: attested | FLAG_USER_PRESENT },
        "not present": { flags: attested | FLAG_USER_VERIFIED },
        "backed up, not eligible": { flags: VERIFIED | FLAG_ATTESTED_CREDENTIAL | FLAG_BACKED_UP },
        "no credential": { flags: VERIFIED },
        id: { id: "A".repeat(43) },
        rawId: { rawId: "A".repeat(43) }
      }
      for (const [title, misbehaviour] of Object.entries(registrationFaults)) {
        const { options, step } = yield* browser.ceremony()
        assert.strictEqual(step, "register")
        const refused = tagOf(browser.register(device.register(options as never, misbehaviour)))
        assert.strictEqual(yield* refused, "PasskeyVerificationFailed", title)
        const honest = tagOf(browser.register(newDevice().register(options as never)))
        assert.strictEqual(yield* honest, "PasskeyVerificationFailed", title)
      }
      const { options } = yield* browser.ceremony()
      yield* browser.register(newDevice().register(options as never))
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("of one step does not serve the other", () =>
    Effect.gen(function* () {
      const browser = browserOf(yield* openSession(caller, yield* newPendingMandate(caller)))
      const device = newDevice()
      const register = yield* browser.ceremony()
      const created = device.register(register.options as never)
      const { challenge, rp } = register.options as {
        readonly challenge: string
        readonly rp: { id: string }
      }
      const early = device.authenticate({ challenge, rpId: rp.id })
      assert.strictEqual(yield* tagOf(browser.approve(early)), "PasskeyVerificationFailed")
      yield* browser.register(created)
      assert.strictEqual(yield* tagOf(browser.register(created)), "PasskeyVerificationFailed")
      const { options } = yield* browser.ceremony()
      assert.strictEqual(yield* tagOf(browser.register(created)), "PasskeyVerificationFailed")
      yield* browser.approve(device.authenticate(options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  for (const [name, userHandle] of [
    ["without a user handle", null],
    ["with an empty user handle", ""]
  ] as const) {
    it.effect(`is answered ${name} too, and the proof has none then`, () =>
      Effect.gen(function* () {
        const { browser, device, mandate } = yield* enrolled
        const step = yield* browser.ceremony()
        yield* browser.approve(device.authenticate(step.options as never, { userHandle }))
        const [, text] = yield* storedJournal(organization, mandate)
        assert.sameMembers(Object.keys(JSON.parse(text ?? "").data.approval), [
          "statement",
          "rp_id",
          "origin",
          "authenticator_data",
          "client_data_json",
          "signature",
          "credential",
          "identity"
        ])
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }
})

describe("what closes a session", () => {
  it.effect("time, to the instant", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      const answer = device.authenticate(step.options as never)
      yield* TestClock.adjust("300 seconds")
      assert.strictEqual(yield* tagOf(browser.approve(answer)), "ApprovalSessionClosed")
      assert.strictEqual(yield* tagOf(declineMandate(browser.bearer())), "ApprovalSessionClosed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a newer session", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      yield* openSession(caller, mandate)
      assert.strictEqual(
        yield* tagOf(browser.approve(device.authenticate(step.options as never))),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a decline, which rejects the mandate", () =>
    Effect.gen(function* () {
      const { browser, mandate, session } = yield* enrolled
      yield* browser.ceremony()
      yield* declineMandate(browser.bearer())
      const shown = yield* caller.read(mandate)
      assert.deepStrictEqual([shown.state, shown.version], ["REJECTED", 2])
      const [, text] = yield* storedJournal(organization, mandate)
      assert.deepStrictEqual(JSON.parse(text ?? "").data, { approval_session_id: session.id })
      assert.strictEqual(yield* tagOf(browser.ceremony()), "ApprovalSessionClosed")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("an unknown token is answered the same", () =>
    Effect.gen(function* () {
      yield* newPendingMandate(caller)
      const token = Redacted.make("A".repeat(43))
      assert.strictEqual(yield* tagOf(openApprovalPage({ token, language: "en" })), "ApprovalSessionClosed")
      assert.strictEqual(
        yield* tagOf(beginCeremony({ token, cookie: undefined, language: "en" })),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a credential that another session enrolled and that was retired does not come back", () =>
    Effect.gen(function* () {
      const first = yield* newPendingMandate(caller)
      const second = yield* pendingMandate(caller)
      // Two software authenticators with the same randomness make the same credential, as a thief with a copy would.
      const copies = [0, 1].map(() => deviceWithCredential(7))
      const [a, b] = [
        browserOf(yield* openSession(caller, first, { enrol: true })),
        browserOf(yield* openSession(caller, second, { enrol: true }))
      ]
      const [device, copy] = copies as [Device, Device]
      yield* a.register(device.register((yield* a.ceremony()).options as never))
      yield* b.register(copy.register((yield* b.ceremony()).options as never))
      const asked = yield* b.ceremony()
      yield* a.approve(device.authenticate((yield* a.ceremony()).options as never))
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      assert.strictEqual(asked.step, "approve")
      assert.strictEqual(
        yield* tagOf(b.approve(copy.authenticate(asked.options as never))),
        "PasskeyVerificationFailed"
      )
      assert.strictEqual((yield* b.ceremony()).step, "register")
      assert.strictEqual((yield* caller.read(second)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("a passkey retired in the middle approves nothing", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      assert.strictEqual(
        yield* tagOf(browser.approve(device.authenticate(step.options as never))),
        "PasskeyVerificationFailed"
      )
      assert.strictEqual(yield* tagOf(browser.ceremony()), "EnrolmentNotAllowed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

it.effect("passkeys belong to one organization's subject", () =>
  Effect.gen(function* () {
    const { device } = yield* enrolled
    const other = callerOf({ id: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" })
    const browser = browserOf(yield* openSession(other, yield* pendingMandate(other)))
    const step = yield* browser.ceremony()
    assert.strictEqual(step.step, "register")
    const theirs = newDevice()
    yield* browser.register(theirs.register(step.options as never))
    const approve = yield* browser.ceremony()
    const foreign = device.authenticate({
      challenge: String(approve.options.challenge),
      rpId: "approve.svc.test"
    })
    assert.strictEqual(yield* tagOf(browser.approve(foreign)), "PasskeyVerificationFailed")
  }).pipe(Effect.provide(memoryPrograms()))
)
