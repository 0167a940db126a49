import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { apiKeyHash } from "@svc/domain/programs/ApiKeys"
import { ConfigProvider, Console, Effect, Redacted } from "effect"
import { operate } from "./OperatorCommands.ts"
import { storageLayer } from "./StoreLayer.ts"

const TIMEOUT_MILLISECONDS = 120_000

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-operate-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Runs a command and gives what it prints. */
const run = (folder: string, environment: string, ...words: ReadonlyArray<string>) => {
  const lines: Array<string> = []
  const env = { SVC_STORE: `pglite:${folder}`, SVC_ENVIRONMENT: environment }
  return operate(words).pipe(
    Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.map(() => JSON.parse(lines.join("\n")))
  )
}

describe("the operator's commands", () => {
  it.live(
    "make an organization and a key for it",
    () =>
      Effect.gen(function* () {
        const folder = join(yield* newFolder, "store")
        const made = yield* run(
          folder,
          "test",
          ...["organization", "create", "--name", "Shop", "--return-origin", "https://shop.example"]
        )
        const create = ["api-key", "create", "--organization", made.organization_id] as const
        const key = yield* run(folder, "test", ...create, "--scope", "read")
        assert.deepStrictEqual(key.scopes, ["read"])
        assert.match(key.api_key, /^svc_test_/u)
        const other = yield* Effect.flip(run(folder, "live", ...create))
        assert.strictEqual(other.line, "the organization is of another environment")
        const found = yield* Effect.flatMap(Organizations, (organizations) =>
          organizations.findApiKey(apiKeyHash(Redacted.make(key.api_key)))
        ).pipe(Effect.provide(storageLayer({ pglite: folder }, { migrations: "require" })))
        assert.strictEqual(found?.apiKey.id, key.api_key_id)
        assert.strictEqual(found?.organization.name, "Shop")
        assert.deepStrictEqual(found?.organization.returnOrigins, ["https://shop.example"])
      }),
    TIMEOUT_MILLISECONDS
  )

  it.live("refuse what is unknown or bad before the store is touched", () =>
    Effect.gen(function* () {
      const folder = join(yield* newFolder, "store")
      for (const words of [["organization"], ["key", "create"], ["organization", "remove"]]) {
        const fault = yield* Effect.flip(run(folder, "test", ...words))
        assert.deepStrictEqual([fault.exitCode, fault.line], [78, "unknown command; see --help"])
      }
    })
  )
})
