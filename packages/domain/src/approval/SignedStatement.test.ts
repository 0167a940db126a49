import { assert, describe, it } from "@effect/vitest"
import { newPasskey } from "@svc/testkit/StoreFixtures"
import { recurring } from "../../test/MandateStory.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"
import { approvalRecord, approvalStatement } from "./SignedStatement.ts"

const display = { locale: "en", lines: [] } as const
const statementOf = (terms: ReturnType<typeof recurring>) =>
  approvalStatement({ sessionId: "aps_1", terms, organizationName: "Shop", display, nonce: "nonce" })

const passkey = newPasskey()
const identity = { issuer: "https://id.example", jti: "1", assertionSha256: "hash" }
const session = { identity } as ApprovalSessionState
const response = { clientDataJSON: "client", authenticatorData: "authenticator", signature: "signature" }

const recordOf = (parts: {
  readonly session?: ApprovalSessionState
  readonly response?: typeof response & { readonly userHandle?: string }
}) =>
  approvalRecord({
    statement: statementOf(recurring()),
    response: { id: "id", rawId: "id", type: "public-key", response: parts.response ?? response },
    passkey,
    session: parts.session ?? session,
    rpId: "approve.example",
    origin: "https://approve.example"
  })

describe("what a passkey signs (part 6)", () => {
  it("has every term of the mandate that it approves, and a description where there is one", () => {
    const terms = recurring({ description: "Books" })
    const { mandate_id, policy, policy_digest, window, approval_deadline, subject_reference } = terms
    assert.deepStrictEqual(statementOf(terms), {
      approval_session_id: "aps_1",
      environment: "test",
      organization_id: terms.organization_id,
      organization_name: "Shop",
      mandate_id,
      subject_reference,
      kind: "RECURRING",
      policy,
      policy_digest,
      window,
      approval_deadline,
      description: "Books",
      display,
      nonce: "nonce"
    })
    assert.notProperty(statementOf(recurring()), "description")
  })

  it("is recorded with the signature, the passkey and the identity, and a user handle where one was sent", () => {
    assert.deepStrictEqual(recordOf({ response: { ...response, userHandle: "handle" } }), {
      statement: statementOf(recurring()),
      rp_id: "approve.example",
      origin: "https://approve.example",
      authenticator_data: "authenticator",
      client_data_json: "client",
      signature: "signature",
      user_handle: "handle",
      credential: {
        id: passkey.credentialId,
        passkey_id: passkey.id,
        public_key: passkey.publicKey,
        algorithm: -7,
        backup_eligible: true,
        enrolled_at: passkey.enrolledAt,
        enrolled_in_this_session: false
      },
      identity: { issuer: "https://id.example", jti: "1", assertion_sha256: "hash" }
    })
    assert.notProperty(recordOf({}), "user_handle")
  })

  it("says whether the passkey was enrolled in this very session", () => {
    const enrolledHere = { ...session, provisionalPasskey: passkey }
    assert.isTrue(recordOf({ session: enrolledHere }).credential.enrolled_in_this_session)
    const another = { ...session, provisionalPasskey: newPasskey() }
    assert.isFalse(recordOf({ session: another }).credential.enrolled_in_this_session)
  })
})
