import { assert, it } from "@effect/vitest"
import {
  bytesOf,
  CREATED,
  device,
  GENERATED,
  HOUR,
  keySet,
  longLife,
  makeSigningKey,
  ORGANIZATION,
  ORIGIN,
  RP_ID,
  SUBJECT,
  signPayload,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import { type Expectations, verifyEvidence } from "@svc/verifier"
import { sayingOf, type Tone } from "./VerdictView.ts"

const payload = longLife().payload(GENERATED)
const evidence = signPayload(payload)
const { head, mandate } = JSON.parse(payload)
const text = new TextEncoder()

const EVERYTHING: Expectations = {
  mandate: mandate.id,
  organization: ORGANIZATION,
  environment: "test",
  subject: SUBJECT,
  rpIds: [RP_ID],
  origins: [ORIGIN],
  passkeys: [{ credentialId: device.credentialId, publicKey: device.publicKey }],
  head
}

it("the verdict is a success for valid evidence alone, and says what kind of no another is", async () => {
  const relyNot = "Invalid: do not rely on this evidence"
  const rows: ReadonlyArray<readonly [Uint8Array, Expectations, tone: Tone, title: string]> = [
    [bytesOf(evidence), {}, "success", "Valid, with nothing pinned"],
    [bytesOf(evidence), { origins: [ORIGIN] }, "success", "Valid, with 1 of 8 expected values pinned"],
    [bytesOf(evidence), EVERYTHING, "success", "Valid, and as expected"],
    [
      bytesOf(evidence),
      { ...EVERYTHING, timeZones: false },
      "success",
      "Valid and as expected, but for its time zones"
    ],
    [
      bytesOf(signPayload(tellJournal(termsOf(singleBody())).payload(CREATED + HOUR))),
      EVERYTHING,
      "failure",
      "Invalid: it is not the evidence that you expect"
    ],
    [
      bytesOf(signPayload(tellJournal(termsOf(singleBody())).payload(CREATED + HOUR))),
      { organization: ORGANIZATION },
      "success",
      "Valid, and nobody approved the mandate"
    ],
    [bytesOf(evidence), { subject: "x" }, "failure", "Invalid: it is not the evidence that you expect"],
    [bytesOf(signPayload(payload.replace("4200", "42"))), {}, "failure", relyNot],
    [bytesOf(signPayload(payload.replace("4200", "42"))), { subject: "x" }, "failure", relyNot],
    [bytesOf({ ...evidence, payload: evidence.payload.slice(4) }), {}, "failure", relyNot],
    [text.encode("<html>"), {}, "failure", "Invalid: the file is not evidence"],
    [text.encode(""), {}, "failure", "Invalid: the file is not evidence"],
    [
      bytesOf(signPayload(payload, makeSigningKey(2))),
      {},
      "failure",
      "Invalid: the key set does not have its key"
    ],
    [bytesOf({ ...evidence, format: "svc.evidence.v2" }), {}, "neutral", "This viewer cannot verify it"]
  ]
  for (const [bytes, expectations, tone, title] of rows) {
    assert.deepInclude(sayingOf(await verifyEvidence(bytes, keySet, expectations)), { tone, title })
  }
})
