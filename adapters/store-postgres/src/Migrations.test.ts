import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { changedMigrations, RELEASED, releaseOf } from "../test/ReleasedMigrations.ts"
import { MIGRATIONS, type Migration } from "./Migrations.ts"

const STEPS: ReadonlyArray<Migration> = ["first", "second", "third"].map((name, at) => ({
  id: at + 1,
  name,
  statements: `create table {schema}.${name} (a bigint);`
}))

/** The steps, the one at an index replaced. */
const withStep = (at: number, parts: Partial<Migration>) =>
  STEPS.map((step, index) => (index === at ? { ...step, ...parts } : step))

describe("migrations", () => {
  it("have ids from 1 without gaps, and unique names", () => {
    assert.deepStrictEqual(
      MIGRATIONS.map(({ id }) => id),
      MIGRATIONS.map((_, at) => at + 1)
    )
    assert.strictEqual(new Set(MIGRATIONS.map(({ name }) => name)).size, MIGRATIONS.length)
  })

  it("of published versions are unchanged, and exist once the package may be published", () => {
    assert.deepStrictEqual(changedMigrations(MIGRATIONS, RELEASED), [])
    const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    assert.isTrue(manifest.private === true || RELEASED.length > 0)
  })

  it("may be added after those that were released", () => {
    assert.deepStrictEqual(changedMigrations(STEPS, STEPS.slice(0, 2).map(releaseOf)), [])
  })

  const released = STEPS.map(releaseOf)
  const changes: Readonly<Record<string, readonly [ReadonlyArray<Migration>, ReadonlyArray<string>]>> = {
    "a text": [withStep(1, { statements: `${STEPS[1]!.statements} ` }), ["second"]],
    "a name": [withStep(0, { name: "start" }), ["first"]],
    "an id": [withStep(2, { id: 4 }), ["third"]],
    "the end": [STEPS.slice(0, 2), ["third"]],
    "the order": [
      [STEPS[1]!, STEPS[0]!, STEPS[2]!],
      ["first", "second"]
    ]
  }
  it.each(Object.entries(changes))("that were released are reported when %s changes", (_, [steps, names]) => {
    assert.deepStrictEqual(changedMigrations(steps, released), names)
  })
})
