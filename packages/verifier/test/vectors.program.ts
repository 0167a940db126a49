/** `npm run vectors -- FOLDER`: writes vectors for verifiers in other languages. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { keySet } from "@svc/testkit/EvidenceMaker"
import {
  type EvidenceVector,
  envelopeVectors,
  forgeriesOfEachKind,
  forgeryVectors,
  genuineVectors,
  hashVectors,
  journalVectors,
  periodVectors,
  ruleVectors
} from "./Vectors.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    journals: { type: "string", default: "4" },
    forgeries: { type: "string" },
    first: { type: "string", default: "1" }
  }
})
const [folder] = positionals
if (folder === undefined) {
  console.error("npm run vectors -- FOLDER [--journals=4] [--forgeries=N] [--first=1]")
  process.exit(64)
}
const first = Number(values.first)
const forgeries =
  values.forgeries === undefined
    ? await forgeriesOfEachKind()
    : await forgeryVectors(first, Number(values.forgeries))
const vectors = [
  ...(await genuineVectors()),
  ...(await envelopeVectors()),
  ...(await ruleVectors()),
  ...(await journalVectors(first, Number(values.journals))),
  ...forgeries
]

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

mkdirSync(join(folder, "evidence"), { recursive: true })
const files = new Map<string, string>()
const index = vectors.map(({ text, ...expected }: EvidenceVector) => {
  const file = files.get(text) ?? `evidence/${String(files.size + 1).padStart(4, "0")}.json`
  if (!files.has(text)) write(file, text)
  files.set(text, file)
  return { file, ...expected }
})
write("evidence.json", json(index))
write("key-set.json", json(keySet))
write("periods.json", json(await periodVectors()))
write("hashes.json", hashVectors())
const count = (verdict: string) => vectors.filter((vector) => vector.verdict === verdict).length
console.log(
  `${vectors.length} envelopes: ${count("valid")} valid, ${count("invalid")} invalid, ${count("unsupported")} unsupported`
)
