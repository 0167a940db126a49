import { fileURLToPath } from "node:url"
import { createContext, runInContext } from "node:vm"
import { gzipSync } from "node:zlib"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { rolldown } from "rolldown"
import type * as client from "../src/index.ts"
import { json } from "./ScriptedFetch.ts"

/** What the whole package may weigh for those who load it, compressed. */
const MAX_GZIP_BYTES = 15_000

const bundled = async (format: "es" | "iife"): Promise<string> => {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("../src/index.ts", import.meta.url)),
    platform: "neutral",
    transform: { target: "es2022" },
    // Warnings, such as about an import that cannot be resolved, fail the test.
    onLog: (_level, log) => {
      throw new Error(log.message)
    }
  })
  try {
    const { output } = await bundle.generate({ format, name: "client", minify: true, comments: false })
    assert.lengthOf(output, 1)
    return output[0].code
  } finally {
    await bundle.close()
  }
}

/** What Node, Deno, Bun and edge runtimes all have, beside ECMAScript. */
const WEB_STANDARDS = {
  AbortController,
  AbortSignal,
  Headers,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  // The bytes of another realm are none to Node's own implementation.
  Uint8Array,
  ArrayBuffer,
  atob,
  btoa,
  clearTimeout,
  crypto,
  setTimeout
}

describe("the package as one file", () => {
  let script = ""
  beforeAll(async () => {
    script = await bundled("iife")
  })

  it(`has less than ${MAX_GZIP_BYTES} bytes compressed, and imports nothing`, async () => {
    const module = await bundled("es")
    assert.isBelow(gzipSync(module).length, MAX_GZIP_BYTES)
    assert.notMatch(module, /\bimport\b|\brequire\b/u)
  })

  it("needs nothing but web standards", async () => {
    const sent: Array<string> = []
    const fetch = async (url: string, { method }: RequestInit) => {
      sent.push(`${method} ${url}`)
      return json({ id: "aut_1" }, method === "POST" ? 201 : 200)
    }
    const context = createContext({ ...WEB_STANDARDS, fetch })
    const { createClient, createCommitment, verifyWebhook } = runInContext(
      `${script};client`,
      context
    ) as typeof client
    const svc = createClient({ baseUrl: "https://api.example", apiKey: "k" })
    const { commitment } = await createCommitment()
    await svc.authorizations.propose("mnd_1", { commitment } as never)
    await svc.authorizations.get("aut_1")
    assert.deepStrictEqual(sent, [
      "POST https://api.example/v1/mandates/mnd_1/authorizations",
      "GET https://api.example/v1/authorizations/aut_1"
    ])
    const refused = await verifyWebhook({ secrets: [], headers: {}, body: "" }).catch((error) => error.code)
    assert.strictEqual(refused, "invalid_argument")
  })
})
