import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { findOwnDevFile } from "../dev/DevFile.ts"
import { readSecretFile } from "./SecretFile.ts"

const newFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-secret-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const read = (folder: string) =>
  readSecretFile(
    { folder, name: "secret", what: "secret" },
    () => "made",
    (text) => text
  )

/** Another user, whom root alone can give a file to. */
const NOBODY = 65_534
const isRoot = process.geteuid?.() === 0

describe("readSecretFile", () => {
  it.effect("creates the file once, readable by its owner alone", () =>
    Effect.gen(function* () {
      const folder = yield* newFolder
      assert.strictEqual(yield* read(folder), "made")
      assert.strictEqual(statSync(join(folder, "secret")).mode & 0o777, 0o600)
    })
  )

  it.effect("restricts the mode of an existing file", () =>
    Effect.gen(function* () {
      const path = join(yield* newFolder, "secret")
      writeFileSync(path, "kept\n")
      chmodSync(path, 0o644)
      assert.strictEqual(yield* read(join(path, "..")), "kept")
      assert.strictEqual(statSync(path).mode & 0o777, 0o600)
    })
  )

  if (isRoot) {
    it.effect("refuses a file of another user", () =>
      Effect.gen(function* () {
        const folder = yield* newFolder
        for (const name of ["secret", "dev.json"]) {
          writeFileSync(join(folder, name), "planted\n")
          chownSync(join(folder, name), NOBODY, NOBODY)
        }
        for (const fault of [yield* Effect.flip(read(folder)), yield* Effect.flip(findOwnDevFile(folder))]) {
          assert.strictEqual(fault.exitCode, 78)
          assert.match(fault.line, /belongs to another user/u)
        }
      })
    )
  }
})
