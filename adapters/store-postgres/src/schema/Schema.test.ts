import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { copyPglite } from "../../test/PreparedPglite.ts"
import { schemaCatalog } from "../../test/SchemaCatalog.ts"
import { inSchema, preparation, printedMigrations } from "../Migrations.ts"
import { schemaStatements } from "./Schema.ts"

const TIMEOUT_MILLISECONDS = 120_000

const PACKAGE = new URL("../../", import.meta.url)

/** Files that may hold SQL, this one aside, by their path in the package. */
const sources = ["src/", "soak/", "bench/", "test/"].flatMap((folder) =>
  (readdirSync(new URL(folder, PACKAGE), { recursive: true }) as Array<string>)
    .filter((name) => name.endsWith(".ts") && !name.endsWith("Schema.test.ts"))
    .map((name) => folder + name)
)

describe("the schema", { timeout: TIMEOUT_MILLISECONDS }, () => {
  let folder: string
  let database: PGlite

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-schema-"))
    await copyPglite(join(folder, "data"))
    database = await PGlite.create(join(folder, "data"))
    await database.exec(printedMigrations("migrated"))
    await database.exec([...preparation("current"), inSchema(schemaStatements, "current")].join(";\n"))
  }, TIMEOUT_MILLISECONDS)
  afterAll(async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const both = () => Promise.all(["migrated", "current"].map((schema) => schemaCatalog(database, schema)))

  it("is the same whether made by all migrations or by its own files", async () => {
    const [migrated, current] = await both()
    assert.isAbove(Object.keys(migrated!).length, 200)
    assert.deepStrictEqual(migrated, current)
  })

  it.each([
    [
      "a function",
      "create or replace function current.store_clock() returns bigint language sql as 'select 1::bigint'"
    ],
    ["a column", "alter table current.stream alter column bytes drop not null"],
    ["a constraint", "alter table current.claim drop constraint claim_pkey"],
    ["an index", "drop index current.event_feed"],
    ["a table", "create table current.more (a bigint)"]
  ])("is found to differ by %s", async (_, change) => {
    await database.exec(`begin; ${change}`)
    const [migrated, current] = await both()
    await database.exec("rollback")
    assert.notDeepEqual(migrated, current)
  })

  it("is used without advisory locks, which not every engine has", () => {
    assert.isAbove(sources.length, 100)
    const found = sources.filter((name) =>
      /pg_\w*advisory/iu.test(readFileSync(new URL(name, PACKAGE), "utf8"))
    )
    assert.deepStrictEqual(found, [])
  })
})
