import { assert, it } from "@effect/vitest"
import {
  approveThrough,
  assertClosed,
  holdApproval,
  mainText,
  PART,
  pressUntilAsked,
  seenText,
  settled,
  statusOf
} from "./ApprovalPageReader.ts"
import { SESSION_MS } from "./ApprovalSite.ts"
import { addAuthenticator } from "./Authenticator.ts"
import { describeInBrowser } from "./BrowserSuite.ts"
import { assertSays } from "./PageWordChecks.ts"
import { standClock } from "./StandingClock.ts"

describeInBrowser("approval pages in several tabs and over time (part 6)", {}, (suite) => {
  const stateOf = async (mandateId: string) => (await suite.site.mandate(mandateId)).state
  const isAtShop = (url: URL) => url.origin === suite.site.shopOrigin

  /** Two tabs of one profile on one link; whoever uses it has a passkey in both. */
  const twoTabs = async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const first = await suite.visit(link)
    const page = await first.page.context().newPage()
    const second = { page, authenticator: await addAuthenticator(page) }
    await page.goto(link.url)
    await first.authenticator.add(passkey)
    await second.authenticator.add(passkey)
    return { first, link, second }
  }

  it("close in the other tab after approval in one", async () => {
    const { first, link, second } = await twoTabs()
    const { held, letGo } = await holdApproval(first.page)
    await first.page.locator(PART.approve).click()
    await held
    await second.page.bringToFront()
    await approveThrough(second.page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
    letGo()
    await assertClosed(first.page)
    assertSays(await mainText(first.page), "approved")
    await first.page.locator(PART.back).click()
    await first.page.waitForURL(isAtShop)
  })

  it("replace the challenge of the other tab, whose response is refused and can be repeated", async () => {
    const { first, link, second } = await twoTabs()
    const { held, letGo } = await holdApproval(first.page)
    await first.page.locator(PART.approve).click()
    await held
    await second.authenticator.setUserVerified(false)
    await second.page.bringToFront()
    await pressUntilAsked(second.page)
    await settled(second.page)
    const refused = first.page.waitForResponse((response) => response.url().endsWith("/approval"))
    letGo()
    assert.strictEqual((await refused).status(), 422)
    await first.page.bringToFront()
    await settled(first.page)
    assertSays(await statusOf(first.page), "nothingApproved")
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    await approveThrough(first.page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("approve once when the same passkey is used in both at once", async () => {
    const { first, link, second } = await twoTabs()
    const pages = [first.page, second.page]
    await Promise.all(
      pages.map((page) => page.locator(PART.approve).evaluate((button) => (button as HTMLElement).click()))
    )
    await Promise.all(pages.map((page) => Promise.race([page.waitForURL(isAtShop), settled(page)])))
    for (const page of pages) {
      if (isAtShop(new URL(page.url())) || !(await page.locator(PART.approve).isVisible())) continue
      await page.bringToFront()
      await page.locator(PART.approve).click()
      await Promise.race([page.waitForURL(isAtShop), assertClosed(page)])
    }
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
    const types = await suite.site.eventTypes(link.mandateId)
    assert.lengthOf(
      types.filter((type) => type === "mandate.approved"),
      1
    )
  })

  it("close when a newer link is created, whichever was started", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    const newer = await suite.site.newLink({ subject: link.subject, mandateId: link.mandateId })
    await page.locator(PART.approve).click()
    await assertClosed(page)
    assertSays(await mainText(page), "replaced")
    assertSays(await mainText(page), "nothingApproved")
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    await page.goto(newer.url)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("are bound to the browser that started, and tell another one so", async () => {
    const link = await suite.site.newLink()
    const begun = await suite.visit(link, { authenticator: { isUserVerified: false } })
    await begun.page.locator(PART.approve).click()
    await settled(begun.page)
    const other = await suite.visit(link, { page: await suite.newBrowser() })
    const answers: Array<number> = []
    other.page.on("response", (response) => {
      if (response.request().method() === "POST") answers.push(response.status())
    })
    for (const part of [PART.approve, PART.decline]) {
      await other.page.locator(part).click()
      await settled(other.page)
      assertSays(await mainText(other.page), "otherBrowser")
    }
    assert.deepStrictEqual(answers, [409, 409])
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    await begun.authenticator.setUserVerified(true)
    await approveThrough(begun.page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("count down and close at the end, even with a dialog open", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser()
    const clock = await standClock(page)
    await addAuthenticator(page, { isTouched: false })
    await page.goto(link.url)
    assert.match(await seenText(page.locator(PART.timer)), /[45]:\d\d/u)
    await pressUntilAsked(page)
    await clock.setSecondsLeft(10)
    suite.site.advance(SESSION_MS)
    await clock.setSecondsLeft(0)
    await assertClosed(page)
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    const said = await mainText(page)
    assertSays(said, "expired")
    assertSays(said, "nothingApproved")
    // Loaded again it says the same, and leads back still.
    assert.strictEqual((await page.reload())?.status(), 410)
    assert.strictEqual(await mainText(page), said)
    await page.locator(PART.back).click()
    await page.waitForURL(isAtShop)
    assert.include(page.url(), `approval_session_id=${link.sessionId}`)
  })

  it("reload and continue when the browser's clock ends before the session", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser()
    const clock = await standClock(page)
    await addAuthenticator(page)
    await page.goto(link.url)
    await Promise.all([page.waitForEvent("load"), clock.setSecondsLeft(0)])
    assert.match(await seenText(page.locator(PART.timer)), /[45]:\d\d/u)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("stop waiting for an answer, and then do not claim that nothing was approved", async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const { authenticator, page } = await suite.visit(link, { page: await suite.newBrowser() })
    await authenticator.add(passkey)
    await page.clock.install()
    await page.reload()
    const { held } = await holdApproval(page)
    await page.locator(PART.approve).click()
    await held
    await page.route(link.url, (route) => route.abort("connectionfailed"))
    await page.clock.runFor(SESSION_MS + 60_000)
    await assertClosed(page)
    assertSays(await mainText(page), "expired")
    assertSays(await mainText(page), "unreachable")
    assert.isTrue(await page.locator(PART.back).isVisible())
    assert.notMatch(await mainText(page), /nothing (?:has been|was) approved/iu)
  })

  it("warn a minute before the end, and assertively at the end, also for screen readers", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser({ viewport: { width: 390, height: 500 } })
    const clock = await standClock(page)
    await page.goto(link.url)
    const spoken = async () => (await page.getByRole("status").allInnerTexts()).join(" ")
    const alarm = async () => (await page.getByRole("alert").allInnerTexts()).join(" ")
    const hurry = page.locator(PART.hurry)
    assert.notInclude(await spoken(), "minute")
    assert.isFalse(await hurry.isVisible())
    // Each text is set once, so it is spoken once.
    await page.evaluate(() => {
      const changes = new MutationObserver((records) => {
        const count = Number(document.body.dataset.spoken ?? 0)
        document.body.dataset.spoken = String(count + records.length)
      })
      for (const id of ["announcement", "alarm"])
        changes.observe(document.getElementById(id)!, { childList: true, characterData: true, subtree: true })
    })
    await clock.setSecondsLeft(59)
    assert.match(await spoken(), /minute/iu)
    assert.strictEqual(await alarm(), "")
    for (const place of [0, 10_000]) {
      await page.evaluate((top) => scrollTo(0, top), place)
      assert.isTrue(await hurry.evaluate((bar) => bar.getBoundingClientRect().bottom <= innerHeight + 1))
      assert.match(await seenText(hurry), /0:59/u)
    }
    await clock.setSecondsLeft(14)
    assert.match(await alarm(), /20 seconds/iu)
    assert.strictEqual(await page.locator("body").getAttribute("data-spoken"), "2")
    suite.site.advance(SESSION_MS)
    await clock.setSecondsLeft(0)
    await assertClosed(page)
    assertSays(await mainText(page), "expired")
  })

  it("ignore a press after the end", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    suite.site.advance(SESSION_MS)
    await page.locator(PART.approve).click()
    await assertClosed(page)
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
  })

  it("offer no active buttons after an approval: back, forward or by the link", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    await addAuthenticator(page)
    await page.goto(`${suite.site.shopOrigin}/basket`)
    // As a link is followed: the page lies between two of the shop's.
    await page.evaluate((url) => location.assign(url), link.url)
    await page.waitForURL(link.url)
    await approveThrough(page)
    // A page out of the browser's memory has no load to wait for.
    const options = { waitUntil: "commit" as const }
    for (const go of [() => page.goBack(options), () => page.goForward(options)]) {
      await go()
      if (isAtShop(new URL(page.url()))) assert.notInclude(page.url(), "/approve/")
      else await assertClosed(page)
    }
    assert.strictEqual((await page.goto(link.url))?.status(), 410)
    await assertClosed(page)
    assertSays(await mainText(page), "approved")
    const other = await suite.newBrowser()
    await other.goto(link.url)
    assertSays(await mainText(other), "used")
    assert.strictEqual(await other.locator(PART.back).count(), 0)
  })

  it("show the present state when restored from the back/forward cache", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    await page.goto(`${suite.site.shopOrigin}/elsewhere`)
    const tab = await page.context().newPage()
    await addAuthenticator(tab)
    await tab.goto(link.url)
    await approveThrough(tab)
    await page.bringToFront()
    await page.goBack()
    await assertClosed(page)
    assertSays(await mainText(page), "approved")
  })

  it("continue when restored from the back/forward cache before the end", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    await page.goto(`${suite.site.shopOrigin}/elsewhere`)
    await page.goBack()
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })
})
