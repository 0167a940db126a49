import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as client from "@svc/client"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { webhookHeaders } from "@svc/protocol/webhook/WebhookHeaders"
import { Effect } from "effect"
import { bodyOf, RETURN_ORIGIN, SUBJECT, startService } from "./ServiceUnderTest.ts"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))

const readme = readFileSync(join(ROOT, "packages/client/README.md"), "utf8")

/** The examples of the page, one after another, as one program. */
const program = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gmu)].map(([, block]) => block).join("\n")

/** What the examples take from the caller's own programs. */
const SURROUNDINGS = `
declare const settings: { readonly baseUrl: string; readonly apiKey: string; readonly webhookSecrets: ReadonlyArray<string> }
declare const user: {
  readonly id: string
  readonly identityAssertion: () => Promise<string>
  readonly newReturnState: () => Promise<string>
  readonly redirect: (url: string | undefined) => Promise<void>
}
declare const vault: {
  readonly put: (name: string, value: object) => Promise<void>
  readonly get: (name: string) => Promise<{ readonly opening: string }>
  readonly cursor: () => Promise<string>
  readonly keepCursor: (cursor: string) => Promise<void>
}
declare const provider: {
  readonly pay: (
    payment: { readonly amount: number; readonly currency: string },
    options: { readonly idempotencyKey: string; readonly signal: AbortSignal }
  ) => Promise<{ readonly status: "accepted" | "declined" | "pending"; readonly id: string }>
}
export { execution, receive, revoke }
`

const NAMES = ["settings", "user", "vault", "provider", "console"]

/** What the program leaves behind, given what it stands on. */
const run = async (surroundings: Readonly<Record<string, unknown>>) => {
  const script = stripTypeScriptTypes(program).replaceAll(
    /^import (\{.*\}) from "@svc\/client"$/gmu,
    "const $1 = client"
  )
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  const body = new AsyncFunction(
    "client",
    ...NAMES,
    `${script}\nreturn { execution, mandate, receive, revoke }`
  )
  return body(client, ...NAMES.map((name) => surroundings[name]))
}

const SECRET = `svc_wh_${encodeBase64Url(new Uint8Array(32).fill(7))}`

const delivery = (secret: string): Request => {
  const event = {
    id: "evt_1",
    type: "endpoint.test",
    occurred_at: "2026-12-01T09:00:00Z",
    data: { version: 0 }
  }
  const body = new TextEncoder().encode(JSON.stringify(event))
  const headers = webhookHeaders({ secret, timestamp: Math.floor(Date.now() / 1000), body })
  return new Request("https://shop.example/webhooks", { method: "POST", headers, body })
}

describe("packages/client/README.md", () => {
  it.live("walks a lifecycle against the service, from the mandate to its revocation", () =>
    Effect.gen(function* () {
      const service = yield* startService()
      const { tenant } = service
      const browser = service.newBrowser()
      const kept = new Map<string, unknown>()
      const paid: Array<string> = []
      const printed: Array<string> = []
      const approve = (url: string) =>
        Effect.gen(function* () {
          const { pathname } = new URL(url)
          bodyOf(yield* browser.register(pathname), 201)
          bodyOf(yield* browser.approve(pathname), 200)
        })
      const surroundings = {
        settings: {
          baseUrl: `http://127.0.0.1:${service.apiPort}`,
          apiKey: tenant.key,
          webhookSecrets: [SECRET]
        },
        user: {
          id: SUBJECT,
          identityAssertion: () => Effect.runPromise(tenant.assertionFor()),
          newReturnState: async () => "state-of-sixteen-characters-or-more",
          redirect: (url: string) => Effect.runPromise(approve(url))
        },
        vault: {
          put: async (name: string, value: object) => void kept.set(name, value),
          get: async (name: string) => kept.get(name),
          cursor: async () => kept.get("cursor"),
          keepCursor: async (cursor: string) => void kept.set("cursor", cursor)
        },
        provider: {
          pay: async (payment: object, { idempotencyKey }: { readonly idempotencyKey: string }) => {
            paid.push(`${idempotencyKey} ${JSON.stringify(payment)}`)
            return { status: "accepted", id: "txn_7001" }
          }
        },
        console: { log: (...words: ReadonlyArray<string>) => void printed.push(words.join(" ")) }
      }
      const { execution, mandate, receive, revoke } = yield* Effect.promise(() => run(surroundings))

      assert.strictEqual(execution.outcome, "committed")
      assert.deepStrictEqual(paid, [`${execution.authorization.id} {"amount":4200,"currency":"EUR"}`])
      assert.strictEqual(
        (yield* tenant.get(`/v1/authorizations/${execution.authorization.id}`)).state,
        "COMMITTED"
      )
      assert.strictEqual(printed[0], `${mandate.id} ACTIVE`)
      assert.includeMembers(printed, [`authorization.committed ${mandate.id}`])
      assert.isString(kept.get("cursor"))
      assert.strictEqual(yield* Effect.promise(() => revoke()), "REVOKED")

      const other = `svc_wh_${encodeBase64Url(new Uint8Array(32).fill(8))}`
      const answers: ReadonlyArray<Response> = yield* Effect.promise(() =>
        Promise.all([SECRET, other].map((secret) => receive(delivery(secret))))
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [204, 400]
      )
      assert.isTrue(kept.has("evt_1"))
      assert.include(readme, RETURN_ORIGIN)
    })
  )

  it("compiles as it stands", () => {
    const cache = join(ROOT, "node_modules", ".cache")
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, "client-readme-"))
    try {
      writeFileSync(join(folder, "readme.ts"), program + SURROUNDINGS)
      writeFileSync(
        join(folder, "tsconfig.json"),
        JSON.stringify({
          extends: "../../../tsconfig.base.json",
          include: ["*.ts"],
          compilerOptions: { noUnusedLocals: false }
        })
      )
      const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc")
      const { status, stdout } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", folder], {
        encoding: "utf8"
      })
      assert.strictEqual(stdout, "")
      assert.strictEqual(status, 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
