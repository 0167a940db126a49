import { assert, it } from "@effect/vitest"
import { directionOf, LANGUAGES, type Language } from "@svc/domain/approval/StatementLanguage"
import type { BrowserContextOptions, Page } from "playwright-core"
import { violationsOf } from "./AccessibilityScan.ts"
import {
  approveThrough,
  assertClosed,
  PART,
  seenText,
  settled,
  statusOf,
  watchPosts
} from "./ApprovalPageReader.ts"
import { SESSION_MS } from "./ApprovalSite.ts"
import { describeInBrowser } from "./BrowserSuite.ts"
import { assertFits, GOOD_TARGET_PX, LEAST_TARGET_PX, targetsOf } from "./PageGeometry.ts"
import { standClock } from "./StandingClock.ts"

const PHONE = { width: 360, height: 740 }
const DESKTOP = { width: 1280, height: 900 }
/** A window of 1280 px at 400 percent (WCAG 1.4.10), and at 200 percent (1.4.4). */
const AT_400_PERCENT = { width: 320, height: 256 }
const AT_200_PERCENT = { width: 640, height: 450 }

const SCHEMES = [
  { colorScheme: "light", forcedColors: "none" },
  { colorScheme: "dark", forcedColors: "none" },
  { colorScheme: "dark", forcedColors: "active" }
] as const

const EVERY_LOOK = [DESKTOP, PHONE].flatMap((viewport) => SCHEMES.map((scheme) => ({ viewport, ...scheme })))

/** Where every state must hold: each width and each color scheme once, since neither changes what the other shows. */
const LOOKS = [
  { viewport: DESKTOP, ...SCHEMES[0] },
  { viewport: PHONE, ...SCHEMES[1] }
]

/** The least spacing of text that a page must bear (WCAG 1.4.12). */
const TEXT_SPACING = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
p { margin-block-end: 2em !important; }`

/** Scans and rules run as scripts, and styles that a person brings along are styles: the page's policy is not theirs. */
const AS_USER_AGENT: BrowserContextOptions = { bypassCSP: true }

const RECURRING = {
  kind: "RECURRING",
  policy: {
    currency: "EUR",
    max_amount: 5000,
    min_amount: 100,
    allowed_actions: ["card.create", "card.charge"],
    allowed_merchants: ["mrc_42", "mrc_43"],
    attribute_rules: [{ name: "category", in: ["books", "music"] }],
    max_total_amount: 60_000,
    max_executions: 24,
    periods: [
      { unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20_000, max_executions: 5 },
      { unit: "WEEK", interval: 2, alignment: "MANDATE", max_executions: 2 }
    ]
  }
}

describeInBrowser("accessibility of the approval page (part 6)", { profile: AS_USER_AGENT }, (suite) => {
  /** On a phone and on a desktop: no violation, nothing sticks out, targets large enough. */
  const assertHolds = async (page: Page, state: string, looks: typeof EVERY_LOOK = LOOKS) => {
    for (const { colorScheme, forcedColors, viewport } of looks) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme, forcedColors, reducedMotion: "reduce" })
      const about = `${state}, ${colorScheme}, forced colors ${forcedColors}, ${viewport.width} px`
      assert.deepStrictEqual(await violationsOf(page), [], about)
      await assertFits(page, about)
    }
    for (const viewport of [AT_400_PERCENT, AT_200_PERCENT]) {
      await page.setViewportSize(viewport)
      await assertFits(page, `${state}, ${viewport.width} px`)
    }
    const style = await page.addStyleTag({ content: TEXT_SPACING })
    await page.setViewportSize({ width: 320, height: 600 })
    await assertFits(page, `${state}, text spacing`)
    await style.evaluate((element) => (element as Element).remove())
    for (const { control, height, width } of await targetsOf(page)) {
      assert.isAtLeast(Math.min(height, width), LEAST_TARGET_PX, control)
      if ([PART.approve, PART.decline].includes(`#${control}`))
        assert.isAtLeast(height, GOOD_TARGET_PX, control)
    }
  }

  const visit = async (mandate: object = {}, browser?: BrowserContextOptions) => {
    const link = await suite.site.newLink({ mandate })
    const page = await (browser === undefined ? suite.newTab() : suite.newBrowser(browser))
    return { link, ...(await suite.visit(link, { page })) }
  }

  it("holds for the open page, in every color scheme at every width", async () => {
    const { page } = await visit(RECURRING)
    await assertHolds(page, "open", EVERY_LOOK)
  })

  it("holds for a right-to-left language", async () => {
    const { page } = await visit(RECURRING, { locale: "ar-EG" })
    assert.strictEqual(await page.locator("html").getAttribute("dir"), "rtl")
    await assertHolds(page, "right to left")
  })

  it("includes reflow at 320 px and the lang attribute in every language", async () => {
    const link = await suite.site.newLink({ mandate: RECURRING })
    const page = await suite.newBrowser({ viewport: AT_400_PERCENT })
    let language: Language = "en"
    await page.route(link.url, (route) =>
      route.continue({ headers: { ...route.request().headers(), "accept-language": language } })
    )
    for (language of LANGUAGES) {
      await page.goto(link.url)
      assert.strictEqual(await page.locator("html").getAttribute("lang"), language)
      assert.strictEqual(await page.locator("html").getAttribute("dir"), directionOf(language))
      await assertFits(page, language)
    }
  })

  it("holds for a user without their passkey, with a way back", async () => {
    const { subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const page = await suite.newTab()
    await page.goto(link.url)
    await page.locator("summary").click()
    await assertHolds(page, "passkey lost")
    await suite.site.retirePasskeys(subject)
    await page.goto(link.url)
    await assertHolds(page, "no passkey allowed")
    await assertClosed(page)
    await page.locator(PART.back).focus()
    await page.keyboard.press("Enter")
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual((await suite.site.mandate(link.mandateId)).state, "PENDING_APPROVAL")
  })

  it("holds while a dialog is open and after it was closed", async () => {
    const { authenticator, page } = await visit()
    await authenticator.setTouched(false)
    await page.locator(PART.approve).click()
    await page.waitForFunction(() => document.getElementById("status")?.textContent !== "")
    await assertHolds(page, "dialog open")
    await page.reload()
    await authenticator.setUserVerified(false)
    await authenticator.setTouched(true)
    await page.locator(PART.approve).click()
    await settled(page)
    await assertHolds(page, "dialog closed")
  })

  it("holds for closed links, an unavailable store, and browsers without passkeys", async () => {
    const { link, page } = await visit()
    suite.site.setStoreOut(true)
    await page.reload()
    await assertHolds(page, "out of reach")
    suite.site.setStoreOut(false)
    await suite.site.newLink({ subject: link.subject, mandateId: link.mandateId })
    await page.reload()
    await assertHolds(page, "closed")

    const other = await suite.site.newLink()
    const bare = await suite.newTab()
    await bare.addInitScript(() => {
      Reflect.deleteProperty(window, "PublicKeyCredential")
    })
    await bare.goto(other.url)
    await assertHolds(bare, "no passkeys")
  })

  it("holds after the time has run out on the open page", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser()
    const clock = await standClock(page)
    await page.goto(link.url)
    await clock.setSecondsLeft(30)
    await assertHolds(page, "last minute")
    suite.site.advance(SESSION_MS)
    await clock.setSecondsLeft(0)
    await assertClosed(page)
    await assertHolds(page, "expired")
  })

  it("includes a title, a language, one heading, and named parts", async () => {
    const { page } = await visit(RECURRING)
    assert.notStrictEqual(await page.title(), "")
    assert.match((await page.locator("html").getAttribute("lang")) ?? "", /^[a-z]{2}/u)
    assert.strictEqual(await page.getByRole("heading", { level: 1 }).count(), 1)
    assert.strictEqual(await page.getByRole("main").count(), 1)
    assert.isAtLeast(await page.getByRole("status").count(), 1)
    assert.strictEqual(await page.locator(PART.timer).getAttribute("role"), "timer")
    for (const part of [PART.approve, PART.decline]) {
      assert.strictEqual(await page.locator(part).evaluate((element) => element.tagName), "BUTTON")
      assert.notStrictEqual(await seenText(page.locator(part)), "")
    }
    // The order in which it is read is the order in which it is to be understood.
    const order = await page.evaluate(() => {
      const at = (selector: string) => document.querySelector(selector)!
      const parts = ["h1", "#lines", "#approve"].map(at)
      return parts.slice(1).every((part, index) => (parts[index]!.compareDocumentPosition(part) & 4) !== 0)
    })
    assert.isTrue(order)
  })

  it("includes operation by keyboard alone: order, visible focus, Enter and Space", async () => {
    const { link, page } = await visit()
    const reached: Array<string> = []
    const focused = () => page.evaluate(() => document.activeElement?.id ?? "")
    for (let presses = 0; presses < 8 && !reached.includes("decline"); presses += 1) {
      await page.keyboard.press("Tab")
      reached.push(await focused())
      const isVisible = await page.evaluate(() => {
        const { boxShadow, outlineStyle, outlineWidth } = getComputedStyle(document.activeElement!)
        return (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2) || boxShadow !== "none"
      })
      assert.isTrue(isVisible, `focus on ${reached.at(-1)}`)
    }
    const buttons = reached.filter((id) => id === "approve" || id === "decline")
    assert.deepStrictEqual([...buttons].sort(), ["approve", "decline"])
    await page.locator(PART.approve).focus()
    await page.keyboard.press("Enter")
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual((await suite.site.mandate(link.mandateId)).state, "ACTIVE")

    const declined = await visit()
    await declined.page.locator(PART.decline).focus()
    await declined.page.keyboard.press("Space")
    await declined.page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual((await suite.site.mandate(declined.link.mandateId)).state, "REJECTED")
  })

  it("keeps the focus after a press, and moves it to a page that replaces this one", async () => {
    const { authenticator, link, page } = await visit()
    await authenticator.setUserVerified(false)
    await page.locator(PART.approve).focus()
    await page.keyboard.press("Enter")
    await settled(page)
    assert.notStrictEqual(await statusOf(page), "")
    assert.isTrue(
      await page.locator(PART.status).evaluate((status) => status.matches("[role=status], [role=alert]"))
    )
    assert.strictEqual(await page.evaluate(() => document.activeElement?.id), "approve")
    await suite.site.newLink({ subject: link.subject, mandateId: link.mandateId })
    await authenticator.setUserVerified(true)
    const posts = watchPosts(page)
    await page.keyboard.press("Enter")
    await assertClosed(page)
    assert.isNotEmpty(posts)
    assert.strictEqual(await page.evaluate(() => document.activeElement?.tagName), "H1")
  })

  it("respects prefers-reduced-motion", async () => {
    const { page } = await visit({}, { reducedMotion: "reduce" })
    const moving = await page.evaluate(
      () =>
        [...document.querySelectorAll("*")].filter((element) => {
          const { animationDuration, transitionDuration } = getComputedStyle(element)
          const seconds = [...animationDuration.split(","), ...transitionDuration.split(",")].map(
            Number.parseFloat
          )
          return seconds.some((duration) => duration > 0.01)
        }).length
    )
    assert.strictEqual(moving, 0)
    assert.strictEqual(await page.evaluate(() => document.getAnimations().length), 0)
  })

  it("shows buttons and focus in forced colors", async () => {
    const { page } = await visit({}, { forcedColors: "active" })
    for (const part of [PART.approve, PART.decline]) {
      await page.locator(part).focus()
      await page.keyboard.press("Shift")
      const look = await page.locator(part).evaluate((button) => {
        const { backgroundColor, borderTopColor, borderTopStyle, color, outlineStyle } =
          getComputedStyle(button)
        return { backgroundColor, borderTopColor, borderTopStyle, color, outlineStyle }
      })
      assert.notStrictEqual(look.color, look.backgroundColor)
      assert.notStrictEqual(look.borderTopColor, look.backgroundColor)
      assert.notStrictEqual(look.borderTopStyle, "none")
      assert.notStrictEqual(look.outlineStyle, "none")
    }
  })

  it("includes approval at 400 percent zoom", async () => {
    const { link, page } = await visit(RECURRING, { viewport: AT_400_PERCENT })
    await approveThrough(page)
    assert.strictEqual((await suite.site.mandate(link.mandateId)).state, "ACTIVE")
  })
})
