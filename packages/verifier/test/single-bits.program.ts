/** Changes every bit of an envelope of 20 events, one after another; none is accepted. */
import { acceptedBits, twentyEvents } from "./SingleBits.ts"

const evidence = twentyEvents()
const accepted = await acceptedBits(
  evidence,
  Array.from({ length: evidence.length * 8 }, (_, bit) => bit)
)
console.log(`${evidence.length * 8} bits changed, accepted: ${accepted.length === 0 ? "none" : accepted}`)
process.exitCode = accepted.length === 0 ? 0 : 1
