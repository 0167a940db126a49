import { concatBytes } from "@noble/hashes/utils.js"
import type { ApprovalRecord, ApprovalStatement } from "@svc/domain/approval/ApprovalStatement"
import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { rawEcdsaSignature } from "@svc/protocol/crypto/EcdsaSignature"
import { sha256, sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import * as Result from "effect/Result"
import { ES256, isKnownAlgorithm, passkeyKey } from "./CoseKey.ts"
import { instantIn, isSame, type JournalEntry } from "./Replay.ts"
import type { CheckName, CheckRecorder } from "./Report.ts"

/** Authenticator data: SHA-256 of the rp id, flags, a counter of four bytes (WebAuthn Level 3 section 6.1). */
const RP_ID_HASH_BYTES = 32
const MIN_AUTHENTICATOR_DATA_BYTES = 37
const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const BACKUP_ELIGIBLE = 0x08
const BACKED_UP = 0x10

export type ApprovalEntry = Extract<JournalEntry, { readonly type: "mandate.approved" }>

/** Members of the statement that are those of the mandate. */
const OF_THE_MANDATE = [
  "environment",
  "organization_id",
  "mandate_id",
  "subject_reference",
  "kind",
  "policy",
  "policy_digest",
  "window",
  "approval_deadline",
  "description"
] as const satisfies ReadonlyArray<keyof ApprovalStatement & keyof MandateTerms>

type Say = (check: CheckName, member: string, detail: string) => void

const parseClientData = (bytes: Uint8Array): JsonObject | undefined => {
  const parsed = parseStrictJson(bytes)
  return Result.isSuccess(parsed) && isJsonObject(parsed.success) ? parsed.success : undefined
}

const checkClientData = (approval: ApprovalRecord, bytes: Uint8Array, say: Say): void => {
  const about = "/client_data_json"
  const clientData = parseClientData(bytes)
  if (clientData === undefined) {
    say("approval_passkey", about, "it is not strict JSON")
    return
  }
  const { challenge, crossOrigin = false, origin, type } = clientData
  if (type !== "webauthn.get") say("approval_passkey", about, "its type is not webauthn.get")
  if (challenge !== encodeBase64Url(approvalChallenge(approval.statement as unknown as JsonValue))) {
    say("approval_statement", about, "its challenge is not that of the statement")
  }
  if (origin !== approval.origin) say("approval_passkey", "/origin", "it is not that of the client data")
  if (crossOrigin !== false || Object.hasOwn(clientData, "topOrigin")) {
    say("approval_passkey", about, "the page was framed by another origin")
  }
}

const checkAuthenticatorData = (approval: ApprovalRecord, bytes: Uint8Array, say: Say): void => {
  const about = "/authenticator_data"
  const flags = bytes[RP_ID_HASH_BYTES] ?? 0
  const has = (flag: number) => (flags & flag) !== 0
  const expected = sha256Base64Url(approval.rp_id)
  if (bytes.length < MIN_AUTHENTICATOR_DATA_BYTES) say("approval_passkey", about, "it is too short")
  if (encodeBase64Url(bytes.subarray(0, RP_ID_HASH_BYTES)) !== expected) {
    say("approval_passkey", about, "it is of another relying party")
  }
  if (!has(USER_PRESENT) || !has(USER_VERIFIED)) {
    say("approval_passkey", about, "the user was not present and verified")
  }
  if (has(BACKUP_ELIGIBLE) !== approval.credential.backup_eligible) {
    say("approval_passkey", "/credential/backup_eligible", "it is not that of the authenticator data")
  }
  if (has(BACKED_UP) && !has(BACKUP_ELIGIBLE)) {
    say("approval_passkey", about, "a passkey that cannot be backed up is")
  }
}

const hostOf = (origin: string): string | undefined => {
  try {
    const url = new URL(origin)
    return url.origin === origin ? url.hostname : undefined
  } catch {
    return undefined
  }
}

/** An origin may use its own host or a parent domain of it as rp id (WebAuthn Level 3 section 5.1.4.1). */
const isOfOrigin = (rpId: string, origin: string): boolean => {
  const host = hostOf(origin)
  return host !== undefined && rpId !== "" && (host === rpId || host.endsWith(`.${rpId}`))
}

const verifySignature = async (
  { credential, signature }: ApprovalRecord,
  data: Uint8Array<ArrayBuffer>
): Promise<string | undefined> => {
  const key = passkeyKey(decodeBase64Url(credential.public_key)!, credential.algorithm)
  if (key === undefined) return "the public key is none of its algorithm"
  const given = decodeBase64Url(signature)!
  const raw = credential.algorithm === ES256 ? rawEcdsaSignature(given) : given
  if (raw === undefined) return "the signature is not in the form of its algorithm"
  const imported = await crypto.subtle.importKey(
    key.format as "raw",
    key.key as never,
    key.importing,
    false,
    ["verify"]
  )
  const isValid = await crypto.subtle.verify(key.verifying, imported, Uint8Array.from(raw), data)
  return isValid ? undefined : "the passkey did not sign this"
}

/** WebCrypto has not every algorithm everywhere; a key that it refuses as data is a fault of the evidence. */
const isUnsupported = (error: unknown): boolean =>
  error instanceof Error && (error.name === "NotSupportedError" || error.name === "TypeError")

/** Verifies what the passkey signed, against the mandate it is recorded in (part 6). */
export const checkApproval = async (
  event: ApprovalEntry,
  terms: MandateTerms,
  checks: CheckRecorder
): Promise<void> => {
  const { approval } = event.data
  const { credential, statement } = approval
  const place = (member: string) => ({ seq: event.seq, member: `/data/approval${member}` })
  const say: Say = (check, member, detail) => checks.fault(check, { ...place(member), detail })
  checks.made("approval_statement", "approval_passkey", "approval_signature")
  for (const member of OF_THE_MANDATE) {
    if (!isSame(statement[member], terms[member])) {
      say("approval_statement", `/statement/${member}`, "it is not that of the mandate")
    }
  }
  if (!isOfOrigin(approval.rp_id, approval.origin)) {
    say("approval_passkey", "/rp_id", "it is neither the host of the origin nor a parent domain of it")
  }
  if (instantIn(credential.enrolled_at) > instantIn(event.occurred_at)) {
    say("approval_passkey", "/credential/enrolled_at", "it is after the approval")
  }
  const clientData = decodeBase64Url(approval.client_data_json)!
  const authenticatorData = decodeBase64Url(approval.authenticator_data)!
  checkClientData(approval, clientData, say)
  checkAuthenticatorData(approval, authenticatorData, say)
  if (!isKnownAlgorithm(credential.algorithm)) {
    const detail = `there is no way to verify signatures of the algorithm ${credential.algorithm} here`
    checks.unsupported("approval_signature", { ...place("/credential/algorithm"), detail })
    return
  }
  const signed = Uint8Array.from(concatBytes(authenticatorData, sha256(clientData)))
  try {
    const fault = await verifySignature(approval, signed)
    if (fault !== undefined) say("approval_signature", "/signature", fault)
  } catch (error) {
    const detail = `WebCrypto does not take the key: ${error instanceof Error ? error.message : error}`
    if (isUnsupported(error)) checks.unsupported("approval_signature", { ...place("/credential"), detail })
    else say("approval_signature", "/credential/public_key", detail)
  }
}
