import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { TEST_TIMEOUT_MS } from "./BrowserSuite.ts"
import { chromiumPath, NO_CHROMIUM, startChromium } from "./ChromiumUnderTest.ts"

const program = chromiumPath()
// Said here alone, so that it is said once for all suites.
if (program === undefined) process.stderr.write(NO_CHROMIUM)

/** Process ids of the browsers that this process started. */
const children = (): ReadonlyArray<string> =>
  spawnSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" })
    .stdout.split("\n")
    .map((line) => line.trim().split(/\s+/u))
    .filter(([, parent, command]) => parent === String(process.pid) && command !== "ps")
    .map(([pid]) => pid ?? "")

describe("the browser under test", () => {
  it("is the one that the environment names, or none", () => {
    assert.isUndefined(chromiumPath("/nowhere/chromium"))
    assert.isUndefined(chromiumPath("/bin/false"))
  })

  it.skipIf(program === undefined)(
    "exits when it is closed, and reaches loopback addresses and nothing else on the network",
    async () => {
      const before = children().length
      const { browser, close, newContext } = await startChromium(program!)
      assert.strictEqual(children().length, before + 1)
      const page = await (await newContext()).newPage()
      const fault = await page.goto("http://elsewhere.example/").catch((error: unknown) => error)
      assert.include(String(fault), "ERR_NAME_NOT_RESOLVED")
      await close()
      assert.isFalse(browser.isConnected())
      assert.strictEqual(children().length, before)
    },
    TEST_TIMEOUT_MS
  )
})
