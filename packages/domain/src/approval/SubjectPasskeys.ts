import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import type { Organization } from "../organization/Organization.ts"
import type { ApprovalSessionState, PasskeyRecord, SubjectCredentials } from "./ApprovalSessionState.ts"

type Subject = SubjectCredentials | undefined

/** Passkeys that can approve. */
export const activePasskeys = (subject: Subject): ReadonlyArray<PasskeyRecord> =>
  (subject?.passkeys ?? []).filter((passkey) => passkey.retiredAt === undefined)

/** Why a new session may enrol a passkey (part 6). */
export const enrolmentOf = (
  organization: Organization,
  identity: { readonly enrolmentAllowed: boolean }
): ApprovalSessionState["enrolment"] => {
  if (identity.enrolmentAllowed) return "CLAIMED"
  return organization.passkeyEnrolment === "FIRST_USE" ? "FIRST_USE" : "NONE"
}

const allowsEnrolment = (enrolment: ApprovalSessionState["enrolment"], subject: Subject): boolean =>
  enrolment === "CLAIMED" || (enrolment === "FIRST_USE" && (subject?.passkeys.length ?? 0) === 0)

/** Whether a session may enrol a passkey now: none is active, and the enrolment allows one (part 6). */
export const mayEnrol = (enrolment: ApprovalSessionState["enrolment"], subject: Subject): boolean =>
  activePasskeys(subject).length === 0 && allowsEnrolment(enrolment, subject)

/** Whether the subject has, or had, this credential. */
export const isKnownCredential = (subject: Subject, credentialId: string): boolean =>
  subject?.passkeys.some((passkey) => passkey.credentialId === credentialId) ?? false

/** The passkeys that can approve in this session: the subject's, or while it has none the provisional one. */
export const candidatePasskeys = (
  session: ApprovalSessionState,
  subject: Subject
): ReadonlyArray<PasskeyRecord> => {
  const active = activePasskeys(subject)
  if (active.length > 0) return active
  const { provisionalPasskey } = session
  if (provisionalPasskey === undefined || !mayEnrol(session.enrolment, subject)) return []
  // A credential that the subject has retired meanwhile must not return under another identifier.
  return isKnownCredential(subject, provisionalPasskey.credentialId) ? [] : [provisionalPasskey]
}

/**
 * What the user can do: create a passkey and approve with it, approve with an existing one, or neither, because there is
 * none and the session may not create one.
 */
export type WayToApprove = "register" | "approve" | "none"

export const wayToApprove = (session: ApprovalSessionState, subject: Subject): WayToApprove => {
  if (candidatePasskeys(session, subject).length > 0) return "approve"
  return mayEnrol(session.enrolment, subject) ? "register" : "none"
}

/** The subject's passkeys after an approval with one of them, or with the provisional one, which is then the subject's. */
export const afterApprovalWith = (subject: SubjectCredentials, used: PasskeyRecord): SubjectCredentials => ({
  ...subject,
  revision: subject.revision + 1,
  passkeys: [...subject.passkeys.filter((passkey) => passkey.id !== used.id), used]
})

/** The subject's passkeys after one of them was retired. */
export const afterRetirementOf = (
  subject: SubjectCredentials,
  passkey: PasskeyRecord,
  now: Instant
): SubjectCredentials => ({
  ...subject,
  revision: subject.revision + 1,
  passkeys: subject.passkeys.map((entry) =>
    entry === passkey ? { ...entry, retiredAt: formatNanos(now) } : entry
  )
})
