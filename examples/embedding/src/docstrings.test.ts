import { readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { fileURLToPath } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Pool } from "pg"
import { createCommitment } from "svc"
import { memory } from "svc/memory"
import { postgres } from "svc/postgres"
import * as svcProperties from "svc/testkit/properties"
import { approvedShop } from "./approved.ts"

const database = await openTestDatabase()
const pool = new Pool({ connectionString: database?.url ?? "" })

afterAll(async () => {
  await pool.end()
  await database?.stop()
})

const sources = new URL("../../../packages/svc/src/", import.meta.url)

/** The code of each example in the comments of the front package, by its file. */
const examples = readdirSync(sources, { encoding: "utf8", recursive: true })
  .filter((name) => /(?<!\.test)\.ts$/u.test(name))
  .flatMap((name) =>
    [...readFileSync(new URL(name, sources), "utf8").matchAll(/@example\n((?: *\*.*\n)+?) *\* ```\n/gu)].map(
      ([, lines = ""], at) => ({
        name: `${name}, ${at + 1}`,
        code: lines
          .split("\n")
          .map((line) => line.replace(/^ *\* ?/u, ""))
          .filter((line) => line !== "```ts")
          .join("\n")
      })
    )
  )

/** Each run of random lives shows no more of an example than the first ones. */
const RUNS = 2

const properties: typeof svcProperties = {
  ...svcProperties,
  checkLifecycle: (target, options) => svcProperties.checkLifecycle(target, { ...options, numRuns: RUNS })
}

const load = (specifier: string) => (specifier === "svc/testkit/properties" ? properties : import(specifier))

const AsyncFunction = (async () => undefined).constructor as new (
  ...parts: ReadonlyArray<string>
) => (...given: ReadonlyArray<unknown>) => Promise<unknown>

/** An import as a statement of a function; the modules are those that this test has. */
const asStatement = (_: string, what: string, specifier: string): string => {
  const loaded = `await load(${JSON.stringify(specifier)})`
  if (what.startsWith("* as ")) return `const ${what.slice("* as ".length)} = ${loaded}`
  return what.startsWith("{") ? `const ${what} = ${loaded}` : `const { default: ${what} } = ${loaded}`
}

/** Runs an example with these names in scope, unless it declares them itself. */
const run = async (code: string, given: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const body = stripTypeScriptTypes(code)
    .replaceAll(/^import (.+) from "([^"]+)"$/gmu, asStatement)
    .replaceAll(/^export /gmu, "")
  const names = Object.keys(given).filter((name) => !new RegExp(`^const ${name} =`, "mu").test(body))
  return new AsyncFunction("load", ...names, body)(load, ...names.map((name) => given[name]))
}

/** One that registers tests with a test runner: those of examples/property-testing run it. */
const registersTests = (code: string): boolean => code.includes("storeContract(")

/** What the examples name and leave to their reader. */
const READERS_OWN = {
  masterKey: new Uint8Array(32),
  makeMapStore: () => ({}),
  MyStore: class {},
  database: {},
  now: () => 0n
}

describe("the examples in the comments of svc", () => {
  it("are found", () => {
    assert.isAbove(examples.length, 10, fileURLToPath(sources))
  })

  for (const { code, name } of examples.filter((example) => !registersTests(example.code))) {
    const isInTransaction = code.includes("client.query(")
    it.skipIf(isInTransaction && database === undefined)(`run: ${name}`, async () => {
      const client = isInTransaction ? await pool.connect() : undefined
      const store = client === undefined ? memory() : postgres({ pool })
      const { id, mandate, service } = await approvedShop({ store, masterKey: new Uint8Array(32) })
      const proposal = {
        external_reference: "order-1",
        proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
        execution_window_seconds: 300,
        commitment: (await createCommitment()).commitment
      }
      await client?.query("create table orders (id text primary key)")
      await run(code, {
        ...READERS_OWN,
        client,
        mandate: mandate.id,
        order: "order-1",
        proposal,
        service,
        shop: id
      })
      client?.release()
      await service.close()
    })
  }
})
