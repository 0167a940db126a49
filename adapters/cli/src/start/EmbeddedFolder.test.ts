import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { requireDatabaseIn } from "./EmbeddedFolder.ts"

const faultOf = (folder: string) => Effect.map(Effect.flip(requireDatabaseIn(folder)), ({ line }) => line)

describe("the folder of an embedded database", () => {
  it.effect("is told from one that cannot be looked into, which need not be without a database", () =>
    Effect.gen(function* () {
      const place = mkdtempSync(join(tmpdir(), "svc-folder-"))
      try {
        writeFileSync(join(place, "PG_VERSION"), "18")
        yield* requireDatabaseIn(place)
        for (const absent of [
          join(place, "none"),
          join(place, "PG_VERSION"),
          join(place, "PG_VERSION", "in")
        ])
          assert.match(yield* faultOf(absent), /^there is no database in \/\S+: see that SVC_STORE names/u)
        const circle = join(place, "circle")
        symlinkSync(circle, circle)
        assert.strictEqual(
          yield* faultOf(circle),
          `${circle} cannot be looked into: ELOOP (too many symbolic links encountered)`
        )
      } finally {
        rmSync(place, { recursive: true })
      }
    })
  )
})
