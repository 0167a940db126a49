import { createHash } from "node:crypto"
import type { Migration } from "../src/Migrations.ts"

/** A migration that a published version brought, and the SHA-256 of its statements in hexadecimal digits. */
export interface ReleasedMigration {
  readonly id: number
  readonly name: string
  readonly sha256: string
}

/** The migrations of all published versions: none has been published. A publication appends those that it brings. */
export const RELEASED: ReadonlyArray<ReleasedMigration> = []

export const releaseOf = ({ id, name, statements }: Migration): ReleasedMigration => ({
  id,
  name,
  sha256: createHash("sha256").update(statements).digest("hex")
})

/** Released migrations that are not what they were, by name: changed, renamed, gone or moved. */
export const changedMigrations = (
  migrations: ReadonlyArray<Migration>,
  released: ReadonlyArray<ReleasedMigration>
): ReadonlyArray<string> =>
  released
    .filter((was, at) => {
      const now = migrations[at]
      return now === undefined || JSON.stringify(releaseOf(now)) !== JSON.stringify(was)
    })
    .map(({ name }) => name)
