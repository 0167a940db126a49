import { assert, describe, it } from "@effect/vitest"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { storedJournal } from "@svc/testkit/ProgramHarness"
import {
  FLAG_BACKED_UP,
  FLAG_BACKUP_ELIGIBLE,
  FLAG_USER_PRESENT,
  FLAG_USER_VERIFIED,
  type Misbehaviour,
  makeSoftwarePasskey,
  type SoftwareAssertion
} from "@svc/testkit/SoftwarePasskey"
import { Effect, Result } from "effect"
import {
  approveWith,
  browserOf,
  callerOf,
  enrolledWith,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  tagOf
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "../../../test/MemoryPrograms.ts"
import { listPasskeys, retirePasskey } from "../Passkeys.ts"

const caller = callerOf()
const organization = caller.organization.id
const subject = { organization, subjectReference: "user_8f2" }
const ORIGIN = "https://approve.svc.test"
const VERIFIED = FLAG_USER_PRESENT | FLAG_USER_VERIFIED

const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("approveMandate", () => {
  it.effect("leaves the proof in the journal and the new passkey with the subject", () =>
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

  it.effect(
    "spends the challenge on a bad signature: a good one for it is then refused (getkirby/kirby#8261)",
    () =>
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

  it.effect("spends nothing on a malformed body", () =>
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

  it.effect("refuses an answer to the challenge of another session", () =>
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

  it.effect("approves once when an answer is sent several times at once", () =>
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
    it.effect(`refuses an answer with ${title}, and spends the challenge`, () =>
      Effect.gen(function* () {
        const { browser, device, mandate } = yield* enrolledWith(caller, counting())
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

  it.effect(
    "spends nothing on bytes that are no canonical base64url, and on another type of credential",
    () =>
      Effect.gen(function* () {
        const { browser, device, mandate } = yield* enrolledWith(caller, counting())
        const step = yield* browser.ceremony()
        const answer = device.authenticate(step.options as never)
        for (const [title, spoil] of Object.entries(malformed)) {
          assert.strictEqual(yield* tagOf(browser.approve(spoil(answer))), "ValidationFailed", title)
        }
        assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
        yield* browser.approve(answer)
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "refuses the passkey of another subject, and of another organization, and spends the challenge",
    () =>
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

  for (const [name, userHandle] of [
    ["without a user handle", null],
    ["with an empty user handle", ""]
  ] as const) {
    it.effect(`accepts an answer ${name}, and the proof has none then`, () =>
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

  it.effect("refuses a passkey that was retired in the middle", () =>
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

  it.effect("refuses the passkey that its subject has in another organization", () =>
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
})
