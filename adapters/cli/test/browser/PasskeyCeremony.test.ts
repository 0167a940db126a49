import { assert, it } from "@effect/vitest"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import type { Page } from "playwright-core"
import {
  approveThrough,
  assertClosed,
  holdApproval,
  linesOf,
  mainText,
  PART,
  pressUntilAsked,
  renderedValues,
  settled,
  settledOrLeft,
  statusOf,
  watchPosts
} from "./ApprovalPageReader.ts"
import { addAuthenticator } from "./Authenticator.ts"
import { describeInBrowser } from "./BrowserSuite.ts"
import { assertFits } from "./PageGeometry.ts"
import { assertSays } from "./PageWordChecks.ts"

const RECURRING = {
  kind: "RECURRING",
  policy: {
    currency: "KWD",
    max_amount: 5000,
    allowed_actions: ["card.create"],
    periods: [{ unit: "MONTH", time_zone: "Asia/Kuwait", max_amount: 20_000 }]
  }
}

const clientDataOf = (approval: { readonly client_data_json: string }) =>
  JSON.parse(Buffer.from(approval.client_data_json, "base64url").toString("utf8"))

/** One press that comes to nothing: the page says so, and nothing has happened. */
const pressInVain = async (page: Page): Promise<string> => {
  await page.locator(PART.approve).click()
  await settled(page)
  return statusOf(page)
}

const toneOf = (page: Page) => page.locator(PART.status).getAttribute("data-tone")

describeInBrowser("a passkey ceremony in a browser (part 6)", {}, (suite) => {
  const stateOf = async (mandateId: string) => (await suite.site.mandate(mandateId)).state

  it("creates a passkey, approves with it, and signs exactly the lines shown", async () => {
    const link = await suite.site.newLink()
    const { authenticator, page } = await suite.visit(link)
    const shown = await linesOf(page)
    assert.isAbove(shown.length, 5)
    assert.deepStrictEqual(
      await renderedValues(page),
      shown.map(({ value }) => value)
    )
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
    const approval = await suite.site.approval(link.mandateId)
    assert.deepStrictEqual(approval.statement.display.lines, shown)
    const signed = clientDataOf(approval as never)
    assert.strictEqual(signed.challenge, encodeBase64Url(approvalChallenge(approval.statement)))
    assert.strictEqual(signed.origin, suite.site.origin)
    assert.isTrue(approval.credential.enrolled_in_this_session)
    const [passkey, ...others] = await authenticator.passkeys()
    assert.deepStrictEqual([passkey?.isResidentCredential, passkey?.rpId, others], [true, "localhost", []])
    const back = new URL(page.url())
    assert.strictEqual(back.origin, suite.site.shopOrigin)
    assert.deepStrictEqual([...back.searchParams.keys()].sort(), [
      "approval_session_id",
      "order",
      "return_state"
    ])
  })

  it("approves with the passkey of an earlier session, in any tab", async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const { authenticator, page } = await suite.visit(link)
    await authenticator.add(passkey)
    const shown = await linesOf(page)
    await approveThrough(page)
    const approval = await suite.site.approval(link.mandateId)
    assert.isFalse(approval.credential.enrolled_in_this_session)
    assert.deepStrictEqual(approval.statement.display.lines, shown)
    assert.lengthOf(await authenticator.passkeys(), 1)
  })

  it("signs what was shown, in every language", async () => {
    for (const locale of ["ar-EG", "de-AT"]) {
      const { passkey, subject } = await suite.knownPerson()
      const link = await suite.site.newLink({ subject, mandate: RECURRING })
      const { authenticator, page } = await suite.visit(link, { page: await suite.newBrowser({ locale }) })
      await authenticator.add(passkey)
      const shown = await linesOf(page)
      await approveThrough(page)
      const { display } = (await suite.site.approval(link.mandateId)).statement
      assert.deepStrictEqual(display.lines, shown)
    }
  })

  it("declines without a passkey", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    await page.goto(link.url)
    await page.locator(PART.decline).click()
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual(await stateOf(link.mandateId), "REJECTED")
  })

  it("can be repeated after failed user verification, at creation and approval", async () => {
    const link = await suite.site.newLink()
    const { authenticator, page } = await suite.visit(link, { authenticator: { isUserVerified: false } })
    assertSays(await pressInVain(page), "tryAgain")
    assert.strictEqual(await toneOf(page), "failure")
    assert.lengthOf(await authenticator.passkeys(), 0)
    await authenticator.setUserVerified(true)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")

    const [passkey] = await authenticator.passkeys()
    const next = await suite.site.newLink({ subject: link.subject })
    const again = await suite.visit(next, { authenticator: { isUserVerified: false } })
    await again.authenticator.add(passkey!)
    assertSays(await pressInVain(again.page), "tryAgain")
    assert.strictEqual(await stateOf(next.mandateId), "PENDING_APPROVAL")
    await again.authenticator.setUserVerified(true)
    await approveThrough(again.page)
    assert.strictEqual(await stateOf(next.mandateId), "ACTIVE")
  })

  it("can continue with another authenticator", async () => {
    const link = await suite.site.newLink()
    const { authenticator, page } = await suite.visit(link, { authenticator: { isTouched: false } })
    await pressUntilAsked(page)
    await authenticator.remove()
    await addAuthenticator(page)
    await settledOrLeft(page)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("refuses the passkey of another user, even under a known id", async () => {
    const first = await suite.knownPerson("first")
    const second = await suite.knownPerson("second")
    const link = await suite.site.newLink({ subject: second.subject })
    const { authenticator, page } = await suite.visit(link)
    await authenticator.add(first.passkey)
    assert.notStrictEqual(await pressInVain(page), "")
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")

    await authenticator.add({ ...second.passkey, privateKey: first.passkey.privateKey })
    assertSays(await pressInVain(page), "nothingApproved")
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    assert.include(suite.site.log.join("\n"), "passkey refused")
  })

  it("explains a browser without passkeys, and lets the user decline", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    await page.addInitScript(() => {
      Reflect.deleteProperty(window, "PublicKeyCredential")
    })
    await page.goto(link.url)
    assertSays(await mainText(page), "noPasskeys")
    assert.isFalse(await page.locator(PART.approve).isVisible())
    await page.locator(PART.decline).click()
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual(await stateOf(link.mandateId), "REJECTED")
  })

  it("is readable without JavaScript, asks for it, and offers no buttons", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser({ javaScriptEnabled: false })
    await page.goto(link.url)
    assert.isTrue(await page.locator(PART.lines).isVisible())
    assertSays(await mainText(page), "noScript")
    await page.setViewportSize({ width: 320, height: 640 })
    await assertFits(page, "without scripts")
    assert.strictEqual(await page.getByRole("button").count(), 0)
  })

  it("explains an approval that failed in transit, and accepts the next one", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    const posts = watchPosts(page)
    await page.route("**/approval", (route) => route.abort("connectionfailed"), { times: 1 })
    let said = await pressInVain(page)
    // A browser that wants a press for each dialog sends the approval with the second.
    if (!posts.includes("approval")) said = await pressInVain(page)
    assertSays(said, "tryAgain")
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("shows that it waits for a slow answer, and ignores further presses", async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const { authenticator, page } = await suite.visit(link)
    await authenticator.add(passkey)
    const posts = watchPosts(page)
    const { held, letGo } = await holdApproval(page)
    await page.locator(PART.approve).click()
    await held
    assert.notStrictEqual(await statusOf(page), "")
    assert.strictEqual(await toneOf(page), "progress")
    // What is marked as disabled is pressed all the same.
    for (const part of [PART.approve, PART.decline]) {
      await page.locator(part).evaluate((button) => (button as HTMLElement).click())
    }
    letGo()
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.deepStrictEqual(posts, ["ceremony", "approval"])
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("does not claim that nothing was approved when the answer was lost", async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const { authenticator, page } = await suite.visit(link)
    await authenticator.add(passkey)
    await page.route(
      "**/approval",
      async (route) => {
        await route.fetch()
        await route.abort("connectionreset")
      },
      { times: 1 }
    )
    const said = await pressInVain(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
    assert.throws(() => assertSays(said, "nothingApproved"))
    await page.locator(PART.approve).click()
    await assertClosed(page)
    assertSays(await mainText(page), "approved")
  })

  it("explains an unavailable store, and continues when it is back", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    suite.site.setStoreOut(true)
    assertSays(await pressInVain(page), "tryAgain")
    suite.site.setStoreOut(false)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("shows a readable page when the store is unavailable from the start", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    suite.site.setStoreOut(true)
    const response = await page.goto(link.url)
    assert.strictEqual(response?.status(), 503)
    assertSays(await mainText(page), "outOfReach")
  })

  it("sends one approval for a double press or click", async () => {
    const { passkey, subject } = await suite.knownPerson()
    const link = await suite.site.newLink({ subject })
    const { authenticator, page } = await suite.visit(link)
    await authenticator.add(passkey)
    const posts = watchPosts(page)
    await page.locator(PART.approve).evaluate((button) => {
      for (let press = 0; press < 3; press += 1) (button as HTMLElement).click()
    })
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.deepStrictEqual(posts, ["ceremony", "approval"])

    const other = await suite.site.newLink()
    const declined = await suite.visit(other)
    const declining = watchPosts(declined.page)
    await declined.page.locator(PART.decline).dblclick({ noWaitAfter: true })
    await declined.page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.deepStrictEqual(
      declining.filter((action) => action === "decline"),
      ["decline"]
    )
  })

  it("continues after a reload with a dialog open", async () => {
    const link = await suite.site.newLink()
    const { authenticator, page } = await suite.visit(link, { authenticator: { isTouched: false } })
    await pressUntilAsked(page)
    await page.reload()
    await authenticator.setTouched(true)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })
})
