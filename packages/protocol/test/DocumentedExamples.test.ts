import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { CreateAuthorizationBody } from "../src/Authorization.ts"
import { decodeBase64Url, encodeBase64Url } from "../src/Base64Url.ts"
import { approvalChallenge } from "../src/evidence/ApprovalChallenge.ts"
import { commitmentOf } from "../src/evidence/Commitment.ts"
import { verifyEventHash } from "../src/evidence/EventHash.ts"
import { verifyEvidence } from "../src/evidence/EvidenceEnvelope.ts"
import { jwkThumbprint } from "../src/evidence/JwkThumbprint.ts"
import { policyDigest } from "../src/evidence/PolicyDigest.ts"
import type { JournalEventType } from "../src/Journal.ts"
import { canonicalJson } from "../src/json/CanonicalJson.ts"
import type { JsonObject, JsonValue } from "../src/json/Json.ts"
import { CreateMandateBody, type MandateStateName, Usage } from "../src/Mandate.ts"
import { decodeBody } from "../src/request/DecodeBody.ts"
import { webhookBody } from "../src/webhook/WebhookBody.ts"
import { webhookSignature } from "../src/webhook/WebhookSignature.ts"
import { type ByteVectors, byteVectors } from "./ByteVectors.ts"

/**
 * A worked example of docs/interface: `vector` names its place in vectors.json, `body` the type of a webhook's event,
 * `request` and `answer` a schema.
 */
interface Example {
  readonly file: string
  readonly kind: "vector" | "body" | "request" | "answer"
  readonly name: string
  readonly text: string
}

const folder = new URL("../../../docs/interface/", import.meta.url)

const examples = readdirSync(folder).flatMap((file): ReadonlyArray<Example> => {
  const blocks = readFileSync(new URL(file, folder), "utf8").matchAll(
    /^```(?:json|text) (vector|body|request|answer)=(\S+)\n([\s\S]*?)\n```$/gmu
  )
  return [...blocks].map(([, kind, name = "", text = ""]) => ({
    file,
    kind: kind as Example["kind"],
    name,
    text
  }))
})

const quoted = ({ text }: Example): JsonValue => (/^[{[]/u.test(text) ? JSON.parse(text) : text)

const atPath = (name: string): unknown =>
  name
    .split(".")
    .reduce<unknown>(
      (value, step) => (value as Readonly<Record<string, unknown>>)[step],
      byteVectors as unknown
    )

type Recomputation = (value: never) => void

const format = <K extends keyof ByteVectors>(name: K) => name

/** How each byte format is computed again from what the example quotes. */
const AGAIN: Readonly<Record<string, Recomputation>> = {
  [format("commitment")]: ({ commitment, opening }: ByteVectors["commitment"][number]) =>
    assert.strictEqual(commitmentOf(decodeBase64Url(opening)!), commitment),
  [format("policy_digest")]: ({ jcs, policy, policy_digest }: ByteVectors["policy_digest"][number]) => {
    assert.strictEqual(canonicalJson(policy), jcs)
    assert.strictEqual(policyDigest(policy), policy_digest)
  },
  [format("approval_challenge")]: ({ challenge, statement }: ByteVectors["approval_challenge"][number]) =>
    assert.strictEqual(encodeBase64Url(approvalChallenge(statement)), challenge),
  [format("event_hash")]: (event: JsonObject) => assert.isTrue(verifyEventHash(event)),
  [format("webhook_signature")]: (example: ByteVectors["webhook_signature"][number]) => {
    const body = new Uint8Array(Buffer.from(example.body_base64, "base64"))
    assert.strictEqual(new TextDecoder().decode(body), example.body)
    const { secret, t: timestamp } = example
    assert.strictEqual(webhookSignature({ secret, timestamp, body }), example.signature)
  }
}

/** What a request has to pass, or an answer is made by. */
const SCHEMAS: Readonly<Record<string, (value: JsonValue) => Result.Result<unknown, unknown>>> = {
  CreateMandate: decodeBody(CreateMandateBody),
  CreateAuthorization: decodeBody(CreateAuthorizationBody),
  Usage: (value) => Schema.decodeUnknownResult(Usage)(value, { onExcessProperty: "error" })
}

const named = (kind: Example["kind"]) => examples.filter((example) => example.kind === kind)

describe("a worked example of docs/interface", () => {
  it("exists for every byte format", () => {
    const places = named("vector").map(({ name }) => name.split(".")[0])
    assert.includeMembers(places, Object.keys(byteVectors))
  })

  for (const example of named("vector")) {
    it(`equals the vector: ${example.file}, ${example.name}`, () => {
      const value = quoted(example)
      assert.deepStrictEqual(value, atPath(example.name) as JsonValue)
      AGAIN[example.name.split(".")[0]!]?.(value as never)
    })
  }

  it("of evidence verifies with the key that the page shows", () => {
    const shown = new Map(named("vector").map((example) => [example.name, quoted(example)]))
    const keySet = shown.get("evidence.key_set") as ByteVectors["evidence"]["key_set"]
    assert.deepStrictEqual(
      keySet.keys.map(({ kid }) => kid),
      keySet.keys.map(jwkThumbprint)
    )
    const envelope = {
      ...byteVectors.evidence.valid[0],
      protected: shown.get("evidence.valid.0.protected"),
      signature: shown.get("evidence.valid.0.signature")
    }
    assert.isTrue(Result.isSuccess(verifyEvidence(envelope, keySet)))
  })

  for (const { name, text } of named("body")) {
    it(`has the bytes of a webhook: ${name}`, () => {
      const body = JSON.parse(text)
      const { authorization_id, mandate_id, state, version } = body.data
      assert.strictEqual(
        webhookBody({
          id: body.id,
          type: name as JournalEventType,
          occurredAt: body.occurred_at,
          mandateId: mandate_id,
          ...(authorization_id === undefined ? {} : { authorizationId: authorization_id }),
          ...(state === undefined ? {} : { state: state as MandateStateName }),
          version
        }),
        text
      )
    })
  }

  for (const example of [...named("request"), ...named("answer")]) {
    it(`fits its schema: ${example.file}, ${example.name}`, () => {
      const decoded = SCHEMAS[example.name]?.(quoted(example))
      assert.isTrue(decoded !== undefined && Result.isSuccess(decoded), JSON.stringify(decoded))
    })
  }
})
