import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const SOURCES = fileURLToPath(new URL("../src", import.meta.url))

/** What may look across organizations: secrets that name their organization, and the worker's scan. */
const ACROSS_ORGANIZATIONS: ReadonlyArray<readonly [string, RegExp]> = [
  ["API key by hash", /where k\.hash = \$1/u],
  ["session by token hash", /where s\.token_hash = p_reference/u],
  ["due streams of all", /where s\.next_due <= \(select/u]
]

const DATA = /\b(?:from|join|into|update)\s+\{schema\}\.(?!migration\b|load_stream\b|append_change\b)\w+/u
const BY_ORGANIZATION = /\.organization = |insert into \{schema\}\.\w+ (?:as \w+ )?\(organization\b/u

/** Statements on data as they are written: between backticks or quotes, and in functions up to a semicolon. */
const statements = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .flatMap((name) => readFileSync(join(SOURCES, name), "utf8").split(/[`;]|"(?=select |,?$)/mu))
  .filter((text) => DATA.test(text))

describe("statements on data", () => {
  it("are found", () => assert.isAbove(statements.length, 20))

  it("name the organization, but for a few that are listed", () => {
    const across = statements.filter((text) => !BY_ORGANIZATION.test(text) || /\.hash = \$1/u.test(text))
    const unlisted = across.filter((text) => !ACROSS_ORGANIZATIONS.some(([, form]) => form.test(text)))
    assert.deepStrictEqual(unlisted, [])
    assert.strictEqual(across.length, ACROSS_ORGANIZATIONS.length)
  })

  it("meet tables whose keys begin with the organization", () => {
    const tables = readFileSync(join(SOURCES, "migrations", "Tables.ts"), "utf8")
      .split("create table ")
      .slice(1)
    assert.isAbove(tables.length, 8)
    for (const table of tables) {
      assert.match(table, /primary key \(organization\b|organization text collate "C" primary key/u)
    }
  })
})
