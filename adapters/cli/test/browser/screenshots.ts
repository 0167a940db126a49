/**
 * Takes pictures of the approval page in every state, language and theme, and of the evidence viewer, into `screenshots/`:
 * `npm run screenshots`. They are for people to look at; nothing compares them.
 */
import { mkdirSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { LANGUAGES } from "@svc/domain/approval/StatementLanguage"
import { bytesOf, keySet, ORIGIN, RP_ID, signPayload } from "@svc/testkit/EvidenceMaker"
import { viewerPage } from "@svc/viewer"
import type { BrowserContextOptions, Page } from "playwright-core"
import { approveThrough } from "./ApprovalPageReader.ts"
import { type ApprovalLink, type LinkOptions, openSite, SESSION_MS } from "./ApprovalSite.ts"
import { addAuthenticator } from "./Authenticator.ts"
import { chromiumPath, NO_CHROMIUM, startChromium } from "./ChromiumUnderTest.ts"
import { YEAR_LATER, yearOfBooks } from "./SampleEvidence.ts"

const FOLDER = fileURLToPath(new URL("../../../../screenshots/", import.meta.url))
const EX_UNAVAILABLE = 69

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 } as const
const DESKTOP = { viewport: { width: 1280, height: 900 } } as const
const LIGHT = { colorScheme: "light" } as const
const DARK = { colorScheme: "dark" } as const

const monthly = (currency: string, max_amount: number, zone: string): LinkOptions => ({
  organization: { name: "Riverside Books" },
  mandate: {
    kind: "RECURRING",
    description: "Books for the reading club",
    policy: {
      currency,
      max_amount,
      allowed_actions: ["card.create", "card.top_up"],
      allowed_merchants: ["Riverside Books", "Corner Music"],
      attribute_rules: [{ name: "category", in: ["books", "music"] }],
      max_total_amount: max_amount * 24,
      periods: [{ unit: "MONTH", time_zone: zone, max_amount: max_amount * 4, max_executions: 5 }]
    }
  }
})

const MANDATES = {
  EUR: monthly("EUR", 5_000, "Europe/Berlin"),
  JPY: monthly("JPY", 5_000, "Asia/Tokyo"),
  KWD: monthly("KWD", 12_500, "Asia/Kuwait"),
  HUF: monthly("HUF", 1_500_000, "Europe/Budapest")
} as const

const program = chromiumPath()
if (program === undefined) {
  writeSync(2, NO_CHROMIUM)
  process.exit(EX_UNAVAILABLE)
}

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
const site = await openSite()
const chromium = await startChromium(program)

let taken = 0

/** A picture of the page, or of what a window shows of it, after what `act` does to it. */
const take = async (
  name: string,
  link: ApprovalLink,
  options: BrowserContextOptions,
  act: (page: Page) => Promise<unknown> = async () => undefined,
  fullPage = true
): Promise<void> => {
  const context = await chromium.newContext(options)
  const page = await context.newPage()
  await page.goto(link.url)
  await act(page)
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage, animations: "disabled" })
  taken += 1
  await context.close()
}

const press = (page: Page, id: string) => page.locator(id).click()

/** Presses a button and waits until the page says something that it does not say while it works. */
const pressAndRead = async (page: Page, id: string) => {
  await press(page, id)
  await page.waitForFunction(
    () =>
      document.querySelector("#approve")?.getAttribute("aria-disabled") !== "true" &&
      document.querySelector("#status")?.textContent !== ""
  )
}

/** Presses a button that takes the page away. */
const pressAndWait = async (page: Page, id: string) => {
  await press(page, id)
  await page.waitForFunction(() => document.querySelector("#approve") === null)
}

const takeLanguages = async () => {
  for (const locale of LANGUAGES) {
    await take(`${locale}-phone-light`, await site.newLink(MANDATES.EUR), { ...PHONE, ...LIGHT, locale })
    await take(`${locale}-desktop-dark`, await site.newLink(MANDATES.EUR), { ...DESKTOP, ...DARK, locale })
  }
}

/** Those on docs/approval-page.md, which are copied from here to `docs/`. */
const takeReadme = async () => {
  const inWindow = [async () => undefined, false] as const
  await take("approval-phone", await site.newLink(MANDATES.EUR), { ...PHONE, ...LIGHT }, ...inWindow)
  await take("approval-desktop", await site.newLink(MANDATES.JPY), { ...DESKTOP, ...DARK }, ...inWindow)
}

const takeCurrencies = async () => {
  for (const [currency, mandate] of Object.entries(MANDATES)) {
    for (const theme of [LIGHT, DARK]) {
      for (const [device, size] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
        const name = `${currency}-${device}-${theme.colorScheme}`
        await take(name, await site.newLink(mandate), { ...size, ...theme })
      }
    }
  }
  await take("once", await site.newLink({ mandate: { description: "A book" } }), { ...PHONE, ...LIGHT })
}

/** Somebody who has a passkey already. */
const withPasskey = async () => {
  const link = await site.newLink()
  const context = await chromium.newContext()
  const page = await context.newPage()
  await addAuthenticator(page)
  await page.goto(link.url)
  await approveThrough(page)
  await context.close()
  return site.newLink({ subject: link.subject })
}

const takeStates = async (suffix: string, look: BrowserContextOptions) => {
  const state = (
    name: string,
    link: ApprovalLink,
    act?: (page: Page) => Promise<unknown>,
    options: BrowserContextOptions = {}
  ) => take(`state-${name}-${suffix}`, link, { ...look, ...options }, act)

  await state("lost-passkey", await withPasskey(), (page) => page.locator("#lost summary").click())
  await state("dialog-cancelled", await site.newLink(), async (page) => {
    await addAuthenticator(page, { isUserVerified: false })
    await pressAndRead(page, "#approve")
  })
  await state("one-step-left", await site.newLink(), async (page) => {
    const authenticator = await addAuthenticator(page)
    page.on("response", async (response) => {
      if (response.url().endsWith("/passkey")) await authenticator.setUserVerified(false)
    })
    await pressAndRead(page, "#approve")
  })
  const bound = await site.newLink()
  const elsewhere = await chromium.newContext()
  const other = await elsewhere.newPage()
  await addAuthenticator(other, { isUserVerified: false })
  await other.goto(bound.url)
  await pressAndRead(other, "#approve")
  await elsewhere.close()
  await state("bound-elsewhere", bound, (page) => pressAndRead(page, "#approve"))
  await state("no-webauthn", await site.newLink(), async (page) => {
    await page.addInitScript("delete window.PublicKeyCredential")
    await page.reload()
  })
  await state("no-javascript", await site.newLink(), undefined, { javaScriptEnabled: false })
  await state("no-answer", await site.newLink(), async (page) => {
    await page.route("**/ceremony", (route) => route.abort())
    await pressAndRead(page, "#approve")
  })
  const superseded = await site.newLink()
  await state("replaced", superseded, async (page) => {
    await site.newLink({ mandateId: superseded.mandateId, subject: superseded.subject })
    await pressAndWait(page, "#approve")
  })
  await state("unknown", { ...superseded, url: `${site.origin}/approve/${"A".repeat(43)}` })
  await state("home", { ...superseded, url: `${site.origin}/` })
  site.setStoreOut(true)
  await state("unavailable", superseded)
  site.setStoreOut(false)
  const approved = await site.newLink()
  await state("approved", approved, async (page) => {
    await addAuthenticator(page)
    await approveThrough(page)
    await page.goto(approved.url)
  })
  await state("used", approved)
  const declined = await site.newLink()
  await state("declined", declined, async (page) => {
    await pressAndWait(page, "#decline")
    await page.goto(declined.url)
  })
  const withClock = async (page: Page, milliseconds: number) => {
    await page.clock.install()
    await page.reload()
    await page.clock.runFor(milliseconds)
  }
  await state("last-minute", await site.newLink(), (page) => withClock(page, SESSION_MS - 42_000))
  await take(
    `state-last-minute-window-${suffix}`,
    await site.newLink(),
    look,
    (page) => withClock(page, SESSION_MS - 19_000),
    false
  )
  await state("unreachable", await site.newLink(), async (page) => {
    await page.clock.install()
    await page.reload()
    await page.route("**/approve/*", (route) => route.abort())
    await page.clock.runFor(SESSION_MS)
    await page.waitForFunction(() => document.querySelector("#approve") === null)
  })
  await state("expired", await site.newLink(), async (page) => {
    await page.clock.install()
    await page.reload()
    site.advance(SESSION_MS)
    await page.clock.runFor(SESSION_MS)
    await page.waitForFunction(() => document.querySelector("#approve") === null)
  })
}

/** Closed pages from right to left, and in the language of the longest words. */
const takeClosedLanguages = async () => {
  for (const locale of ["ar", "he", "de", "ja"]) {
    const replaced = await site.newLink()
    await site.newLink({ mandateId: replaced.mandateId, subject: replaced.subject })
    await take(`${locale}-replaced-phone`, replaced, { ...PHONE, ...DARK, locale })
    await take(
      `${locale}-last-minute-phone`,
      await site.newLink(),
      { ...PHONE, ...LIGHT, locale },
      async (page) => {
        await page.clock.install()
        await page.reload()
        await page.clock.runFor(SESSION_MS - 42_000)
      },
      false
    )
  }
}

const NANOS_PER_MILLISECOND = 1_000_000n

/** The viewer with evidence that is what was expected. */
const openEvidence = async (options: BrowserContextOptions): Promise<Page> => {
  const payload = yearOfBooks().payload(YEAR_LATER)
  const { head, mandate } = JSON.parse(payload)
  const expected = { mandate: mandate.id, "rp-ids": RP_ID, origins: ORIGIN, head: `${head.seq}:${head.hash}` }
  const file = join(FOLDER, "viewer.html")
  writeFileSync(file, viewerPage())
  const page = await (await chromium.newContext(options)).newPage()
  await page.clock.setFixedTime(Number(YEAR_LATER / NANOS_PER_MILLISECOND))
  await page.goto(pathToFileURL(file).href)
  const disclosure = page.getByText("Expected values").first()
  await disclosure.click()
  for (const [name, value] of Object.entries(expected)) await page.locator(`#expect-${name}`).fill(value)
  await disclosure.click()
  const json = (name: string, content: object) => ({
    name,
    mimeType: "application/json",
    buffer: Buffer.from(bytesOf(content))
  })
  await page.locator("#keys-file").setInputFiles(json("jwks.json", keySet))
  await page.locator("#evidence-file").setInputFiles(json("evidence.json", signPayload(payload)))
  await page.locator(".events > li").first().waitFor()
  return page
}

/** Each part of the evidence viewer. `evidence-viewer`, on docs/evidence.md, is copied from here to `docs/`. */
const takeViewer = async () => {
  const looks = { "desktop-light": { ...DESKTOP, ...LIGHT }, "phone-dark": { ...PHONE, ...DARK } }
  for (const [look, options] of Object.entries(looks)) {
    const page = await openEvidence(options)
    for (const part of ["proved", "approval", "budgets", "decisions", "timeline", "checks"]) {
      await page.locator(`#${part}`).evaluate((section) => section.scrollIntoView())
      await page.screenshot({ path: join(FOLDER, `viewer-${part}-${look}.png`), animations: "disabled" })
      taken += 1
    }
    await page.context().close()
  }
  const page = await openEvidence({ ...LIGHT, viewport: { width: 880, height: 780 } })
  await page.locator("#verdict").evaluate((verdict) => verdict.scrollIntoView())
  await page.screenshot({ path: join(FOLDER, "evidence-viewer.png"), animations: "disabled" })
  taken += 1
  await page.context().close()
}

/** `-- states` takes those of the states alone, `-- viewer` those of the evidence viewer. */
const statesAlone = process.argv.includes("states")
const viewerAlone = process.argv.includes("viewer")

try {
  if (!statesAlone && !viewerAlone) {
    await takeReadme()
    await takeLanguages()
    await takeCurrencies()
  }
  if (!statesAlone) await takeViewer()
  if (!viewerAlone) {
    await takeClosedLanguages()
    await takeStates("phone-light", { ...PHONE, ...LIGHT })
    await takeStates("desktop-dark", { ...DESKTOP, ...DARK })
  }
  console.log(`${taken} pictures in screenshots/`)
} finally {
  await chromium.close()
  await site.close()
}
