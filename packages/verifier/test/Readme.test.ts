import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import { bytesOf, GENERATED, keySet, longLife, ORIGIN, RP_ID, signPayload } from "@svc/testkit/EvidenceMaker"
import * as verifier from "@svc/verifier"

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
const payload = longLife().payload(GENERATED)

/** An example, with what it is pinned to being that of the evidence. */
const scriptOf = (block: string): string =>
  stripTypeScriptTypes(block)
    .replaceAll(/^import (\{.*\}) from "@svc\/verifier"$/gmu, "const $1 = verifier")
    .replaceAll(/mnd_[0-9a-z]{26}/gu, JSON.parse(payload).mandate.id)
    .replace('"example.com"', JSON.stringify(RP_ID))
    .replace('"https://approve.example.com"', JSON.stringify(ORIGIN))

describe("packages/verifier/README.md", () => {
  it("has examples that run", async () => {
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
    const said: Array<string> = []
    const log = (...words: ReadonlyArray<unknown>) => void said.push(words.join(" "))
    const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gmu)].map(([, block = ""]) => block)
    for (const example of examples) {
      const run = new AsyncFunction("verifier", "evidence", "keySet", "console", scriptOf(example))
      await run(verifier, bytesOf(signPayload(payload)), keySet, { log })
    }
    assert.lengthOf(examples, 2)
    assert.match(said[0] ?? "", /^ACTIVE /u)
    assert.strictEqual(said.at(-1), "20 authorization.expired ACTIVE 12200")
  })
})
