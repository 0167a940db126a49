import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { WEBHOOKS } from "@svc/protocol/api/WebhookDocument"
import { webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { afterAll, assert, describe, it } from "vitest"

const WEBHOOKS_PAGE = readFileSync(new URL("../../../docs/webhooks.md", import.meta.url), "utf8")

/** The blocks of a language, without their indentation. */
const blocksOf = (markdown: string, language: string): ReadonlyArray<string> =>
  [...markdown.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)\\n\\1\`\`\``, "gmu"))].map(
    ([, indentation, text = ""]) => text.replaceAll(new RegExp(`^${indentation}`, "gmu"), "")
  )

const folder = mkdtempSync(join(tmpdir(), "svc-snippet-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const secret = `svc_wh_${Buffer.alloc(32, 251).toString("base64url")}`
const body = Buffer.from('{"id":"evt_1","note":"\u{1f600}"}')
const now = Math.floor(Date.now() / 1000)
const signed = (timestamp = now, by = secret) => webhookSignature({ secret: by, timestamp, body })

interface Case {
  readonly secret: string
  readonly signature: string
  readonly body: Buffer
  readonly expected: boolean
}

const other = `svc_wh_${Buffer.alloc(32, 8).toString("base64url")}`
const CASES: ReadonlyArray<Case> = [
  { secret, signature: signed(), body, expected: true },
  { secret, signature: signed(now - 240), body, expected: true },
  { secret, signature: signed(now - 360), body, expected: false },
  { secret, signature: signed(now + 360), body, expected: false },
  { secret, signature: signed(), body: Buffer.concat([body, Buffer.from("\n")]), expected: false },
  { secret, signature: signed(now, other), body, expected: false },
  { secret, signature: signed().replace(/.$/u, (last) => (last === "0" ? "1" : "0")), body, expected: false },
  { secret, signature: signed().slice(0, -1), body, expected: false },
  { secret, signature: "", body, expected: false }
]

const expected = CASES.map((one) => one.expected)

describe("webhook verification (part 8)", () => {
  it("in docs/webhooks.md is correct", async () => {
    const [snippet = "", ...more] = blocksOf(WEBHOOKS_PAGE, "js")
    assert.deepStrictEqual(more, [])
    const file = join(folder, "verify.mjs")
    writeFileSync(file, snippet)
    const { isAuthentic } = await import(/* @vite-ignore */ pathToFileURL(file).href)
    assert.deepStrictEqual(
      CASES.map((one) => isAuthentic(one.secret, one.signature, one.body)),
      expected
    )
  })

  const hasPython =
    spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0

  it.skipIf(!hasPython)("in the OpenAPI document is correct", () => {
    const [snippet = ""] = blocksOf(WEBHOOKS["endpoint.test"]?.post.description ?? "", "python")
    const program = `${snippet}

import json, sys
for case in json.load(sys.stdin):
    print(is_authentic(case["secret"], case["signature"], bytes.fromhex(case["body"])))`
    const input = JSON.stringify(CASES.map((one) => ({ ...one, body: one.body.toString("hex") })))
    const { stderr, stdout } = spawnSync("python3", ["-c", program], { input, encoding: "utf8" })
    assert.strictEqual(stderr, "")
    assert.deepStrictEqual(
      stdout.trim().split("\n"),
      expected.map((is) => (is ? "True" : "False"))
    )
  })
})
