import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { closeToOthers, FolderExposed } from "./PrivateFolder.ts"

let base: string
let folder: string

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "svc-private-"))
  folder = join(base, "data")
  mkdirSync(folder)
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

const modeOf = (path: string): number => statSync(path).mode & 0o777

const write = (path: string, mode: number): string => {
  writeFileSync(path, "")
  chmodSync(path, mode)
  return path
}

/** Another user, whom root alone can give a file to. */
const NOBODY = 65_534
const isRoot = process.geteuid?.() === 0

describe("a private folder", () => {
  it("is closed to other users, whatever modes it and its files had", () => {
    chmodSync(folder, 0o755)
    const inner = join(folder, "base")
    mkdirSync(inner)
    chmodSync(inner, 0o777)
    const file = write(join(inner, "1"), 0o666)
    closeToOthers(folder)
    assert.deepStrictEqual([folder, inner, file].map(modeOf), [0o700, 0o700, 0o600])
  })

  it("leaves the targets of links in it alone", () => {
    const outside = write(join(base, "outside"), 0o644)
    symlinkSync(outside, join(folder, "link"))
    closeToOthers(folder)
    assert.strictEqual(modeOf(outside), 0o644)
  })

  it("may be reached through a link", () => {
    chmodSync(folder, 0o755)
    const link = join(base, "link")
    symlinkSync(folder, link)
    closeToOthers(link)
    assert.strictEqual(modeOf(folder), 0o700)
  })

  it.runIf(isRoot)("is refused and left as it is if another user owns it", () => {
    chmodSync(folder, 0o755)
    chownSync(folder, NOBODY, NOBODY)
    let fault: unknown
    try {
      closeToOthers(folder)
    } catch (error) {
      fault = error
    }
    assert.instanceOf(fault, FolderExposed)
    assert.strictEqual(fault.exposure, "owner")
    assert.strictEqual(modeOf(folder), 0o755)
  })
})
