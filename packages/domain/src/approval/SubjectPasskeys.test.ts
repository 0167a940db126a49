import { assert, describe, it } from "@effect/vitest"
import { harnessOrganization } from "@svc/testkit/ProgramHarness"
import { newPasskey, newSubject } from "@svc/testkit/StoreFixtures"
import { at } from "../../test/MandateStory.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"
import {
  activePasskeys,
  afterApprovalWith,
  afterRetirementOf,
  candidatePasskeys,
  enrolmentOf,
  isKnownCredential,
  mayEnrol,
  wayToApprove
} from "./SubjectPasskeys.ts"

const active = newPasskey()
const retired = newPasskey({ retiredAt: "2026-11-01T00:00:00.000000000Z" })
const provisional = newPasskey()
const nobody = newSubject()
const former = newSubject({ passkeys: [retired] })
const current = newSubject({ passkeys: [retired, active] })

const session = (enrolment: ApprovalSessionState["enrolment"], provisionalPasskey?: typeof provisional) =>
  ({
    enrolment,
    ...(provisionalPasskey === undefined ? {} : { provisionalPasskey })
  }) as ApprovalSessionState

describe("the passkeys of a subject (part 6)", () => {
  it("can approve unless they are retired", () => {
    assert.deepStrictEqual([undefined, nobody, former, current].map(activePasskeys), [[], [], [], [active]])
  })

  it("are known by their credentials, retired or not", () => {
    assert.isTrue(isKnownCredential(current, active.credentialId))
    assert.isTrue(isKnownCredential(current, retired.credentialId))
    assert.isFalse(isKnownCredential(current, provisional.credentialId))
    assert.isFalse(isKnownCredential(undefined, active.credentialId))
  })

  it("can be enrolled by the organization's first use, or because the identity assertion allows it", () => {
    const first = harnessOrganization({ passkeyEnrolment: "FIRST_USE" })
    const asked = harnessOrganization({ passkeyEnrolment: "CALLER_ALLOWED" })
    assert.strictEqual(enrolmentOf(first, { enrolmentAllowed: false }), "FIRST_USE")
    assert.strictEqual(enrolmentOf(first, { enrolmentAllowed: true }), "CLAIMED")
    assert.strictEqual(enrolmentOf(asked, { enrolmentAllowed: false }), "NONE")
    assert.strictEqual(enrolmentOf(asked, { enrolmentAllowed: true }), "CLAIMED")
  })

  it.each([
    ["NONE", [false, false, false, false]],
    ["FIRST_USE", [true, true, false, false]],
    ["CLAIMED", [true, true, true, false]]
  ] as const)(
    "may be enrolled by %s while none is active, and by first use while there was none",
    (enrolment, expected) => {
      const subjects = [undefined, nobody, former, current]
      assert.deepStrictEqual(
        subjects.map((subject) => mayEnrol(enrolment, subject)),
        [...expected]
      )
    }
  )

  it("come before a provisional one, which counts while the session may still enrol it", () => {
    assert.deepStrictEqual(candidatePasskeys(session("CLAIMED", provisional), current), [active])
    assert.deepStrictEqual(candidatePasskeys(session("CLAIMED", provisional), former), [provisional])
    assert.deepStrictEqual(candidatePasskeys(session("FIRST_USE", provisional), former), [])
    assert.deepStrictEqual(candidatePasskeys(session("CLAIMED"), nobody), [])
    const again = newPasskey({ credentialId: retired.credentialId })
    assert.deepStrictEqual(candidatePasskeys(session("CLAIMED", again), former), [])
  })

  it("say what the user can do", () => {
    assert.strictEqual(wayToApprove(session("NONE"), current), "approve")
    assert.strictEqual(wayToApprove(session("FIRST_USE", provisional), nobody), "approve")
    assert.strictEqual(wayToApprove(session("FIRST_USE"), undefined), "register")
    assert.strictEqual(wayToApprove(session("FIRST_USE"), former), "none")
  })

  it("are changed by an approval and by a retirement, each in its own entry and under the next revision", () => {
    const used = { ...active, counter: 7 }
    assert.deepStrictEqual(afterApprovalWith(current, used), {
      ...current,
      revision: 2,
      passkeys: [retired, used]
    })
    assert.deepStrictEqual(afterApprovalWith(nobody, provisional).passkeys, [provisional])
    const retiredAt = "2026-12-01T00:00:00.000000000Z"
    assert.deepStrictEqual(afterRetirementOf(current, active, at("2026-12-01T00:00:00Z")), {
      ...current,
      revision: 2,
      passkeys: [retired, { ...active, retiredAt }]
    })
  })
})
