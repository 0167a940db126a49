import { generateKeyPairSync, sign as signNode } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import { encodeCbor } from "@svc/testkit/CborEncoder"
import {
  approvalOf,
  at,
  bytesOf,
  CREATED,
  device,
  encoder,
  GENERATED,
  HOUR,
  keySet,
  longLife,
  makeDevice,
  makeSigningKey,
  NOW,
  ORGANIZATION,
  ORIGIN,
  RP_ID,
  SUBJECT,
  signingKey,
  signPayload,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import {
  CHECKS,
  type CheckName,
  type Evidence,
  type EvidenceReport,
  type Expectations,
  verifyEvidence
} from "./index.ts"

// biome-ignore lint/suspicious/noExplicitAny: payloads are taken apart and put together as plain data
type Json = any

const payload = longLife().payload(GENERATED)
const envelope = signPayload(payload)
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const verify = (evidence: Evidence, keys: unknown = keySet, expectations: Expectations = {}) =>
  verifyEvidence(evidence, keys, { now: NOW, ...expectations })

const failed = ({ checks }: EvidenceReport): ReadonlyArray<CheckName> =>
  checks.filter(({ status }) => status === "fail").map(({ name }) => name)

const statusOf = ({ checks }: EvidenceReport, name: CheckName) =>
  checks.find((check) => check.name === name)?.status

const assertRefused = async (evidence: Uint8Array | object, by: CheckName, keys: unknown = keySet) => {
  const report = await verify(evidence, keys)
  assert.strictEqual(report.verdict, "invalid", JSON.stringify(report.checks))
  assert.include(failed(report), by)
  assert.isUndefined(report.proved)
}

/** The payload after a change of its events, chained anew. */
const rechained = (change: (draft: Json) => void): string => {
  const draft = JSON.parse(payload)
  change(draft)
  let previous: string | undefined
  draft.events = draft.events.map(({ hash: _, previous_hash: __, ...event }: Json, index: number) => {
    const own = { ...event, seq: index + 1, ...(previous === undefined ? {} : { previous_hash: previous }) }
    const sealed = sealEventText(own)
    previous = sealed.hash
    return JSON.parse(sealed.text)
  })
  draft.head = { seq: draft.events.length, hash: previous }
  return JSON.stringify(draft)
}

const edited = (change: (draft: Json) => void): string => {
  const draft = JSON.parse(payload)
  change(draft)
  return JSON.stringify(draft)
}

const header = (members: object) => encodeBase64Url(encoder.encode(JSON.stringify(members)))

/** An envelope with another protected header, signed as it is. */
const withHeader = (text: string) => {
  const encoded = envelope.payload
  const signature = encodeBase64Url(signingKey.sign(encoder.encode(`${text}.${encoded}`)))
  return { ...envelope, protected: text, signature }
}

describe("verifyEvidence", () => {
  it("accepts genuine evidence, and says what it proves", async () => {
    const report = await verify(bytesOf(envelope))
    assert.strictEqual(report.verdict, "valid")
    assert.deepStrictEqual(
      report.checks.map(({ name }) => name),
      Object.keys(CHECKS)
    )
    assert.deepStrictEqual(failed(report), [])
    assert.strictEqual(report.kid, signingKey.kid)
    const { proved } = report
    assert.strictEqual(proved?.organization_id, ORGANIZATION)
    assert.deepInclude(proved?.mandate, { state: "ACTIVE", version: 3, subject_reference: SUBJECT })
    assert.deepInclude(proved?.approval, { rp_id: RP_ID, origin: ORIGIN, credential_id: device.credentialId })
    assert.deepStrictEqual(proved?.approval?.lines, [{ label: "At most", value: "EUR 50.00" }])
    assert.strictEqual(proved?.decisions_rerun, 8)
    assert.strictEqual(proved?.head.seq, 20)
    assert.strictEqual(proved?.age_seconds, 10)
    assert.deepStrictEqual(
      proved?.outcomes.map(({ amount, count, outcome }) => [outcome, count, amount]),
      [
        ["COMMITTED", 3, "12200"],
        ["RESERVED", 0, "0"],
        ["CANCELLED", 1, "1500"],
        ["EXPIRED", 2, "2000"],
        ["DENIED", 1, undefined],
        ["INDETERMINATE", 1, undefined],
        ["LATE", 1, "1000"]
      ]
    )
    assert.deepStrictEqual(proved?.refunded, { count: 1, amount: "1200" })
  })

  it("flags executions outside of their authority, late usage, conflicts and age", async () => {
    const { warnings } = await verify(envelope, keySet, { now: new Date("2027-02-01T00:00:00Z") })
    assert.deepStrictEqual(
      warnings.map(({ code, seq }) => [code, seq]),
      [
        ["executed_outside_authority", 13],
        ["late_usage", 13],
        ["executed_outside_authority", 14],
        ["outcome_conflict", 14],
        ["may_have_changed", undefined]
      ]
    )
  })

  it("says what it could not compare", async () => {
    const report = await verify(envelope, keySet, { timeZones: false })
    const details = report.checks.filter(({ status }) => status === "not_pinned").map(({ detail }) => detail)
    assert.includeMembers(details, [
      "zones not checked: there is no time zone database",
      "rp id not pinned",
      "passkey not pinned",
      "head not pinned"
    ])
  })

  it("compares with what is known from elsewhere", async () => {
    const { hash } = JSON.parse(payload).events[4]
    const known: Expectations = {
      organization: ORGANIZATION,
      environment: "test",
      mandate: JSON.parse(payload).mandate.id,
      subject: SUBJECT,
      rpIds: [RP_ID],
      origins: [ORIGIN],
      passkeys: [{ credentialId: device.credentialId, publicKey: device.publicKey }],
      head: { seq: 5, hash }
    }
    const report = await verify(envelope, keySet, known)
    assert.strictEqual(report.verdict, "valid")
    assert.notInclude(
      report.checks.map(({ status }) => status),
      "not_pinned"
    )
    const others: ReadonlyArray<readonly [CheckName, Expectations]> = [
      ["expected_organization", { organization: "org_01jdyyyyyyyyyyyyyyyyyyyyyy" }],
      ["expected_environment", { environment: "live" }],
      ["expected_mandate", { mandate: "mnd_01jdyyyyyyyyyyyyyyyyyyyyyy" }],
      ["expected_subject", { subject: "user_9" }],
      ["rp_id", { rpIds: ["example.com"] }],
      ["origin", { origins: ["https://example.com"] }],
      ["passkey", { passkeys: [{ credentialId: makeDevice(8).credentialId }] }],
      ["passkey", { passkeys: [{ credentialId: device.credentialId, publicKey: "AA" }] }],
      ["remembered_head", { head: { seq: 6, hash } }],
      ["remembered_head", { head: { hash: signingKey.kid } }]
    ]
    for (const [name, other] of others) {
      assert.deepStrictEqual(failed(await verify(envelope, keySet, { ...known, ...other })), [name])
    }
    const byId = await verify(envelope, keySet, { passkeys: [{ credentialId: device.credentialId }] })
    assert.deepStrictEqual([byId.verdict, statusOf(byId, "passkey")], ["valid", "not_pinned"])
  })

  it("does not know what it cannot check, rather than refuse it", async () => {
    assert.strictEqual((await verify({ ...envelope, format: "svc.evidence.v2" })).verdict, "unsupported")
    const later = [
      edited((draft) => {
        draft.schema = "svc.evidence.v2"
      }),
      rechained((draft) => {
        draft.events[2].data.rules_version = 2
      }),
      rechained((draft) => {
        draft.events[2].type = "authorization.extended"
      })
    ]
    for (const text of later) assert.strictEqual((await verify(signPayload(text))).verdict, "unsupported")
  })

  it("says of a passkey of an algorithm that it does not know that it cannot tell", async () => {
    const terms = termsOf(singleBody())
    const journal = tellJournal(terms)
    const { credential, ...approval } = approvalOf(terms)
    journal.approve(CREATED + HOUR, { ...approval, credential: { ...credential, algorithm: -35 } })
    const report = await verify(signPayload(journal.payload(CREATED + HOUR)))
    assert.strictEqual(report.verdict, "unsupported")
    assert.strictEqual(statusOf(report, "approval_signature"), "fail")
  })

  it.each([-7, -8] as const)("verifies approvals with passkeys of the algorithm %i", async (algorithm) => {
    const terms = termsOf(singleBody())
    const journal = tellJournal(terms)
    journal.approve(CREATED + HOUR, approvalOf(terms, makeDevice(5, algorithm)))
    const report = await verify(signPayload(journal.payload(CREATED + HOUR)))
    assert.strictEqual(statusOf(report, "approval_signature"), "pass")
  })
})

describe("an approval with RS256", () => {
  it("is verified, and refused under a modulus that is too short", async () => {
    for (const [modulusLength, expected] of [
      [2048, "pass"],
      [1024, "fail"]
    ] as const) {
      const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength })
      const { e = "", n = "" } = publicKey.export({ format: "jwk" })
      const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64url"))
      const coseKey = encodeCbor(
        new Map<number, number | Uint8Array>([
          [1, 3],
          [3, -257],
          [-1, bytes(n)],
          [-2, bytes(e)]
        ])
      )
      const sign = (data: Uint8Array) => new Uint8Array(signNode("sha256", data, privateKey))
      const terms = termsOf(singleBody())
      const journal = tellJournal(terms)
      const rsa = makeDevice(6, -257, () => ({ algorithm: -257, coseKey, sign }))
      journal.approve(CREATED + HOUR, approvalOf(terms, rsa))
      const report = await verify(signPayload(journal.payload(CREATED + HOUR)))
      assert.strictEqual(statusOf(report, "approval_signature"), expected)
    }
  })
})

describe("evidence that no service makes", () => {
  it("is refused, whatever its terms lead to", async () => {
    const text = rechained(({ events: [created] }) => {
      created.occurred_at = "9998-06-01T00:00:00.000000000Z"
      created.data.window = { starts_at: "9998-12-01T00:00:00Z", ends_at: "9999-12-31T00:00:00Z" }
      created.data.approval_deadline = "9998-11-01T00:00:00Z"
      created.data.policy.periods[0].unit = "YEAR"
      created.data.time_zones[0].transitions = []
    })
    assert.strictEqual((await verify(signPayload(text), keySet, { timeZones: false })).verdict, "invalid")
  })

  it("is refused, whatever is put for the envelope or the key set", async () => {
    for (const other of [{}, [], new Uint8Array(0), new Uint8Array(9), [null], [envelope, null]]) {
      assert.notStrictEqual((await verify(other as object)).verdict, "valid")
    }
    for (const keys of [null, 1, "x", [], {}, { keys: {} }, { keys: [null, 1, []] }]) {
      assert.deepStrictEqual(failed(await verify(envelope, keys)), ["key"])
    }
  })
})

describe("evidence and its continuations", () => {
  const CONTINUATION = "svc.evidence.continuation.v1"
  const journal = longLife()
  const now = GENERATED + HOUR
  const continued = (afterSeq: number, change: (draft: Json) => void = () => {}) => {
    const draft = JSON.parse(journal.continuation(afterSeq, now))
    change(draft)
    return bytesOf(signPayload(JSON.stringify(draft), signingKey, CONTINUATION))
  }

  it("are verified as one", async () => {
    const first = bytesOf(envelope)
    journal.propose(9, now, { amount: 100 })
    const whole = await verify(signPayload(journal.payload(now)))
    for (const afterSeq of [20, 12]) {
      const report = await verify([first, continued(afterSeq)])
      assert.deepStrictEqual(report.proved, whole.proved)
      assert.strictEqual(statusOf(report, "continuation"), "pass")
    }
    const again = await verify([first, continued(20), continued(21)])
    assert.strictEqual(again.verdict, "valid")
    assert.strictEqual(statusOf(whole, "continuation"), "not_applicable")
  })

  it("are refused when they do not belong together", async () => {
    const first = bytesOf(envelope)
    // Its head is an earlier event, behind which the continuation tells another history.
    const forked = JSON.parse(payload)
    forked.head = { seq: 12, hash: forked.events[11].hash }
    const faulty = [
      [bytesOf(signPayload(JSON.stringify(forked))), continued(12)],
      [first, continued(20, ({ after }) => Object.assign(after, { seq: 19 }))],
      [first, continued(20, ({ after }) => Object.assign(after, { hash: signingKey.kid }))],
      [first, continued(20, (draft) => Object.assign(draft, { environment: "live" }))],
      [
        first,
        continued(20, ({ mandate }) => Object.assign(mandate, { id: "mnd_01jdyyyyyyyyyyyyyyyyyyyyyy" }))
      ],
      [first, continued(12, ({ events }) => events.splice(3))],
      [first, continued(21)]
    ] as const
    for (const evidence of faulty) {
      const report = await verify(evidence)
      assert.strictEqual(report.verdict, "invalid")
      assert.include(failed(report), "continuation")
    }
    const cut = await verify([first, continued(20, ({ events }) => events.pop())])
    assert.include(failed(cut), "head")
    assert.strictEqual((await verify(continued(20))).verdict, "unsupported")
    assert.strictEqual((await verify([first, first])).verdict, "unsupported")
  })
})

describe("threats.md, evidence and keys, by the verifier", () => {
  it("algorithms other than ES256 by name, and HS256 with the public key as its secret", async () => {
    for (const alg of ["none", "HS256", "ES256K", "es256", "ES384", ""]) {
      await assertRefused(withHeader(header({ alg, kid: signingKey.kid })), "protected_header")
    }
    const input = header({ alg: "HS256", kid: signingKey.kid })
    const secret = await crypto.subtle.importKey(
      "raw",
      encoder.encode(JSON.stringify(signingKey.jwk)),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"]
    )
    const mac = await crypto.subtle.sign("HMAC", secret, encoder.encode(`${input}.${envelope.payload}`))
    const signature = encodeBase64Url(new Uint8Array(mac))
    await assertRefused({ ...envelope, protected: input, signature }, "protected_header")
  })

  it("DER, and 63 or 65 bytes", async () => {
    const bytes = Buffer.from(envelope.signature, "base64url")
    const der = Buffer.concat([
      Buffer.of(0x30, 68, 2, 32),
      bytes.subarray(0, 32),
      Buffer.of(2, 32),
      bytes.subarray(32)
    ])
    for (const other of [der, bytes.subarray(1), Buffer.concat([bytes, Buffer.of(0)]), Buffer.alloc(64)]) {
      await assertRefused({ ...envelope, signature: other.toString("base64url") }, "signature")
    }
  })

  it("jwk, jku, x5u, x5c, crit, b64 in the header, and an unprotected header", async () => {
    for (const extra of [
      { jwk: {} },
      { jku: "" },
      { x5u: "" },
      { x5c: [] },
      { crit: ["b64"] },
      { b64: false }
    ]) {
      const text = header({ alg: "ES256", kid: signingKey.kid, ...extra })
      await assertRefused(withHeader(text), "protected_header")
    }
    await assertRefused({ ...envelope, header: { kid: "x" } }, "envelope")
  })

  it("a kid that is unknown, duplicated, __proto__ or a number", async () => {
    const other = makeSigningKey(2)
    await assertRefused(envelope, "key", { keys: [other.jwk] })
    await assertRefused(envelope, "key", { keys: [signingKey.jwk, { kid: signingKey.kid }] })
    await assertRefused(withHeader(header({ alg: "ES256", kid: 1 })), "protected_header")
    for (const kid of ["__proto__", "constructor"]) {
      await assertRefused(withHeader(header({ alg: "ES256", kid })), "key")
      await assertRefused(withHeader(header({ alg: "ES256", kid })), "key", {
        keys: [{ ...signingKey.jwk, kid }]
      })
    }
    await assertRefused(signPayload(payload, other), "key")
    const borrowed = { ...other, kid: signingKey.kid }
    await assertRefused(signPayload(payload, borrowed), "signature", { keys: [signingKey.jwk, other.jwk] })
  })

  it("accepts (r, n - s), which is no other evidence, and r or s with a leading zero byte", async () => {
    const bytes = Buffer.from(envelope.signature, "base64url")
    const s = P256_ORDER - BigInt(`0x${bytes.subarray(32).toString("hex")}`)
    const high = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")])
    const report = await verify({ ...envelope, signature: high.toString("base64url") })
    assert.strictEqual(report.verdict, "valid")
    const leading = new Set<number>()
    for (let index = 0; leading.size < 2; index++) {
      const draft = { ...JSON.parse(payload) }
      const signed = signPayload(`${JSON.stringify(draft).slice(0, -1)}${" ".repeat(index)}}`)
      const raw = Buffer.from(signed.signature, "base64url")
      for (const offset of [0, 32]) {
        if (raw[offset] !== 0 || leading.has(offset)) continue
        leading.add(offset)
        assert.strictEqual((await verify(signed)).verdict, "valid")
      }
    }
  })

  it("duplicate members, a byte order mark, bad UTF-8, text behind", async () => {
    const text = JSON.stringify(envelope)
    const forged = [
      `{"payload":"x",${text.slice(1)}`,
      `{"p\\u0061yload":"x",${text.slice(1)}`,
      `\ufeff${text}`,
      `${text} x`,
      `[${text}]`
    ]
    for (const other of forged) await assertRefused(encoder.encode(other), "envelope")
    await assertRefused(Uint8Array.of(...encoder.encode(text.slice(0, -1)), 0xff, 0x7d), "envelope")
    await assertRefused(signPayload(`{"generated_at":"x",${payload.slice(1)}`), "payload")
    await assertRefused(signPayload(`\ufeff${payload}`), "payload")
    await assertRefused(signPayload(payload.replace('"seq":1,', '"seq":1.0,')), "payload")
  })

  it("a getter read twice", async () => {
    let reads = 0
    const shifty = {
      ...envelope,
      get payload() {
        reads += 1
        return reads === 1 ? envelope.payload : "e30"
      }
    }
    const report = await verify(shifty)
    assert.strictEqual(report.verdict, "valid")
    assert.strictEqual(reads, 1)
  })

  it("rotation with a stale cache is told from a forgery by the check that fails", async () => {
    const next = makeSigningKey(2)
    assert.deepStrictEqual(failed(await verify(signPayload(payload, next))), ["key"])
    assert.strictEqual(
      (await verify(signPayload(payload, next), { keys: [next.jwk, signingKey.jwk] })).verdict,
      "valid"
    )
  })

  it("d in the key set", async () => {
    await assertRefused(envelope, "key", { keys: [{ ...signingKey.jwk, d: "AA" }] })
    const report = await verify(envelope, { keys: [signingKey.jwk, { ...makeSigningKey(2).jwk, d: "AA" }] })
    assert.strictEqual(report.verdict, "valid")
  })

  it("an event edited, deleted, reordered, the tail cut off", async () => {
    const forged: ReadonlyArray<readonly [CheckName, string]> = [
      [
        "chain",
        edited((draft) => Object.assign(draft.events[4].data, { provider_transaction_reference: "t" }))
      ],
      ["chain", edited((draft) => draft.events.splice(4, 1))],
      ["chain", edited((draft) => draft.events.reverse())],
      ["head", edited((draft) => draft.events.pop())],
      ["payload", edited((draft) => Object.assign(draft, { events: [] }))],
      ["mandate", rechained((draft) => draft.events.splice(1))],
      ["due_transitions", rechained((draft) => draft.events.splice(2, 1))],
      ["transitions", rechained((draft) => draft.events.splice(3, 1))],
      ["generated_at", rechained((draft) => draft.events.pop())],
      ["due_transitions", rechained((draft) => draft.events.splice(2, 0, draft.events.pop()))]
    ]
    for (const [name, text] of forged) await assertRefused(signPayload(text), name)
  })

  it("a caller's fact shown as verified", async () => {
    const text = rechained((draft) => Object.assign(draft.events[4], { source: "SERVICE_VERIFIED" }))
    await assertRefused(signPayload(text), "event_form")
  })

  it("a denial made ALLOW, another tenant's approval, a flipped passkey signature, wrong openings", async () => {
    const terms = termsOf(singleBody(), "mnd_01jdyyyyyyyyyyyyyyyyyyyyyy")
    const flipped = (text: string) => (text.startsWith("A") ? `B${text.slice(1)}` : `A${text.slice(1)}`)
    const forged: ReadonlyArray<readonly [CheckName, string]> = [
      [
        "event_form",
        rechained((draft) =>
          Object.assign(draft.events[5], {
            type: "authorization.reserved",
            data: { ...draft.events[5].data, decision: "ALLOW", reasons: [] }
          })
        )
      ],
      [
        "approval_statement",
        rechained((draft) => Object.assign(draft.events[1].data, { approval: approvalOf(terms) }))
      ],
      [
        "approval_signature",
        rechained(({ events }) => {
          const { approval } = events[1].data
          approval.signature = flipped(approval.signature)
        })
      ],
      [
        "commitments",
        rechained(({ events }) => {
          const [first, second] = events.filter(({ type }: Json) => type === "authorization.committed")
          first.data.commitment_opening = second.data.commitment_opening
        })
      ]
    ]
    for (const [name, text] of forged) await assertRefused(signPayload(text), name)
  })

  it("approvals of a faulty page or authenticator", async () => {
    const terms = termsOf(singleBody())
    const faulty: ReadonlyArray<readonly [CheckName, Parameters<typeof approvalOf>[2]]> = [
      ["approval_passkey", { misbehaviour: { type: "webauthn.create" } }],
      ["approval_statement", { misbehaviour: { challenge: "AAAA" } }],
      ["approval_passkey", { misbehaviour: { origin: "https://evil.example" } }],
      ["approval_passkey", { misbehaviour: { crossOrigin: true } }],
      ["approval_passkey", { misbehaviour: { topOrigin: "https://evil.example" } }],
      ["approval_passkey", { misbehaviour: { rpId: "evil.example" } }],
      ["approval_passkey", { misbehaviour: { flags: 0x01 } }],
      ["approval_passkey", { misbehaviour: { flags: 0x05 } }],
      ["approval_passkey", { misbehaviour: { flags: 0x15 } }],
      ["approval_passkey", { misbehaviour: { clientDataJson: (text) => `\ufeff${text}` } }],
      ["approval_statement", { parts: { subject_reference: "user_9" } }],
      ["approval_statement", { parts: { policy: { ...terms.policy, max_amount: 1 } } }]
    ]
    for (const [name, parts] of faulty) {
      const journal = tellJournal(terms)
      journal.approve(CREATED + HOUR, approvalOf(terms, device, parts))
      await assertRefused(signPayload(journal.payload(at("2026-11-29T00:00:00Z"))), name)
    }
  })

  it("an approval for no relying party, on a host that ends with a dot", async () => {
    const origin = "https://approve.svc.test."
    const terms = termsOf(singleBody())
    const journal = tellJournal(terms)
    const approval = approvalOf(terms, device, { misbehaviour: { origin, rpId: "" } })
    journal.approve(CREATED + HOUR, { ...approval, origin, rp_id: "" })
    await assertRefused(signPayload(journal.payload(at("2026-11-29T00:00:00Z"))), "approval_passkey")
  })
})
