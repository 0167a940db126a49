import { assert, describe, it } from "@effect/vitest"
import { bytesOf, GENERATED, longLife, signPayload } from "@svc/testkit/EvidenceMaker"
import { acceptedBits, twentyEvents } from "./SingleBits.ts"

/** One byte of the payload in so many is tried; `npm run forgeries:bits` tries every one. */
const PAYLOAD_STRIDE = 40

describe("an envelope of 20 events", () => {
  it("is refused with any one bit changed", async () => {
    const evidence = twentyEvents()
    assert.lengthOf(longLife().texts, 20)
    const { payload } = signPayload(longLife().payload(GENERATED))
    assert.deepStrictEqual(bytesOf(signPayload(longLife().payload(GENERATED))), evidence)
    const from = new TextDecoder().decode(evidence).indexOf(payload)
    const bytes = Array.from(evidence.keys()).filter(
      (at) => at < from + 40 || at >= from + payload.length - 40 || at % PAYLOAD_STRIDE === 0
    )
    const bits = bytes.flatMap((at) => Array.from({ length: 8 }, (_, bit) => at * 8 + bit))
    assert.deepStrictEqual(await acceptedBits(evidence, bits), [])
  })
})
