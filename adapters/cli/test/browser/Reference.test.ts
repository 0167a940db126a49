import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { violationsOf } from "./AccessibilityScan.ts"
import { describeInBrowser } from "./BrowserSuite.ts"

/** Opens the reference, and keeps what the page complains of and what it asks for. */
const openReference = async (page: Page, origin: string) => {
  const complaints: Array<string> = []
  const requests: Array<string> = []
  page.on("console", (message) => complaints.push(message.text()))
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("request", (request) => requests.push(request.url()))
  await page.goto(`${origin}/docs`)
  return { complaints, requests }
}

/** Code that hides its end, and paths that are broken elsewhere than after a slash. */
const badlyBroken = (page: Page) =>
  page.evaluate(() => {
    const hidden = [...document.querySelectorAll(".code pre")].filter(
      ({ clientWidth, scrollWidth }) => scrollWidth > clientWidth
    )
    const segments = [...document.querySelectorAll(".route code")].flatMap((code) =>
      [...code.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
    )
    const broken = segments.filter((segment) => {
      const range = document.createRange()
      range.selectNode(segment)
      return range.getClientRects().length > 1
    })
    return [...hidden, ...broken].map(({ textContent }) => textContent)
  })

describeInBrowser("the reference in a browser (part 9)", {}, (suite) => {
  // Every operation is of the same parts, so one of them tells of the other colors and the other width.
  const devices = [
    ["a desktop", 1440, "light", "html"],
    ["a phone", 390, "dark", "#createMandate"]
  ] as const
  for (const [device, width, colorScheme, scanned] of devices) {
    it(`renders on ${device} in ${colorScheme} without foreign requests, console errors or accessibility faults`, async () => {
      const page = await suite.newBrowser({ colorScheme, viewport: { width, height: 844 } })
      const origin = `http://localhost:${suite.site.apiPort}`
      const { complaints, requests } = await openReference(page, origin)
      await page.locator("#createMandate .code button").waitFor()
      assert.deepStrictEqual(complaints, [])
      assert.deepStrictEqual(
        requests.filter((url) => !url.startsWith(`${origin}/`)),
        []
      )
      assert.deepStrictEqual(await violationsOf(page, scanned), [])
      const [inner, outer] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth])
      assert.strictEqual(outer, inner)
      assert.deepStrictEqual(await badlyBroken(page), [])
    })
  }

  it("opens at the linked member, however deeply nested", async () => {
    const page = await suite.newBrowser({ viewport: { width: 1440, height: 900 } })
    await page.goto(`http://localhost:${suite.site.apiPort}/docs#createMandate.policy.periods.time_zone`)
    const member = page.locator('[id="createMandate.policy.periods.time_zone"]')
    await member.waitFor({ state: "visible" })
    assert.isTrue(await member.evaluate((element) => element.getBoundingClientRect().top < innerHeight))
  })

  it("filters its contents", async () => {
    const page = await suite.newBrowser({ viewport: { width: 1440, height: 900 } })
    await page.goto(`http://localhost:${suite.site.apiPort}/docs`)
    await page.getByRole("searchbox", { name: "Filter" }).fill("refund")
    const shown = page.locator("nav li:visible")
    assert.deepStrictEqual(await shown.allTextContents(), ["POSTReport a refund"])
  })
})
