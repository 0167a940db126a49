import { bytesOf, GENERATED, keySet, longLife, NOW, signPayload } from "@svc/testkit/EvidenceMaker"
import { verifyEvidence } from "@svc/verifier"

/** Envelopes that are verified at a time. */
const AT_ONCE = 64

const isValid = async (evidence: Uint8Array) =>
  (await verifyEvidence(evidence, keySet, { now: NOW, timeZones: false })).verdict === "valid"

/** Genuine evidence of 20 events. */
export const twentyEvents = (): Uint8Array => bytesOf(signPayload(longLife().payload(GENERATED)))

/** The bits, of those that are given, whose change leaves the evidence valid. */
export const acceptedBits = async (
  evidence: Uint8Array,
  bits: ReadonlyArray<number>
): Promise<ReadonlyArray<number>> => {
  const accepted: Array<number> = []
  for (let first = 0; first < bits.length; first += AT_ONCE) {
    const some = bits.slice(first, first + AT_ONCE)
    const outcomes = await Promise.all(
      some.map((bit) => {
        const changed = evidence.slice()
        changed[bit >> 3] = changed[bit >> 3]! ^ (1 << (bit & 7))
        return isValid(changed)
      })
    )
    accepted.push(...some.filter((_, index) => outcomes[index]))
  }
  return accepted
}
