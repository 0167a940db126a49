import { assert } from "@effect/vitest"
import type { DisplayLine } from "@svc/domain/approval/ApprovalStatement"
import type { Locator, Page } from "playwright-core"

/** Presses after which somebody with a working passkey has approved: browsers may want one for each dialog. */
const MOST_PRESSES = 3

/** What the tests know the parts of the page by: never by their words. */
export const PART = {
  approve: "#approve",
  back: "#back",
  decline: "#decline",
  hurry: "#hurry",
  lines: "#lines",
  status: "#status",
  timer: "#timer"
}

/** The lines as the document has them. */
export const linesOf = (page: Page): Promise<ReadonlyArray<DisplayLine>> =>
  page.locator(`${PART.lines} dd`).evaluateAll((values) =>
    values.map((value) => ({
      label: value.parentElement?.querySelector("dt")?.textContent ?? "",
      value: value.textContent ?? ""
    }))
  )

/** A text as it is rendered: what a style hides or changes is not in it. */
export const seenText = async (part: Locator): Promise<string> => {
  // biome-ignore lint/performance/useDomNodeTextContent: what is seen is what matters here
  const text = await part.innerText()
  return text.trim()
}

/** The values of the lines as they are rendered. */
export const renderedValues = (page: Page): Promise<ReadonlyArray<string>> =>
  // biome-ignore lint/performance/useDomNodeTextContent: as above
  page.locator(`${PART.lines} dd`).evaluateAll((all) => all.map((value) => (value as HTMLElement).innerText))

export const statusOf = (page: Page): Promise<string> => seenText(page.locator(PART.status))

/** Everything that the page says. */
export const mainText = (page: Page): Promise<string> => seenText(page.locator("main"))

/** Waits until the page says something and does nothing more. */
export const settled = async (page: Page): Promise<void> => {
  await page.waitForFunction(() => {
    const button = document.getElementById("approve")
    return (
      button === null || (button.getAttribute("aria-disabled") !== "true" && !button.hasAttribute("disabled"))
    )
  })
}

/** From here on, remembers what the page's script sends; answers the list of actions, which grows. */
export const watchPosts = (page: Page): ReadonlyArray<string> => {
  const posts: Array<string> = []
  page.on("request", (request) => {
    if (request.method() === "POST") posts.push(new URL(request.url()).pathname.split("/").at(-1) ?? "")
  })
  return posts
}

const isApprovalPage = (url: URL): boolean => url.pathname.startsWith("/approve/")
const isLeft = (page: Page): boolean => !isApprovalPage(new URL(page.url()))

/** Waits until the page waits for a press, or the person was taken back to the shop. */
export const settledOrLeft = async (page: Page): Promise<void> => {
  const left = page.waitForURL((url) => !isApprovalPage(url))
  await Promise.race([left, settled(page)]).catch((fault) => {
    if (!isLeft(page)) throw fault
  })
}

/** Presses the button until the person is taken back to the shop. */
export const approveThrough = async (page: Page): Promise<void> => {
  for (let press = 0; press < MOST_PRESSES && !isLeft(page); press += 1) {
    await page.locator(PART.approve).click()
    await settledOrLeft(page)
  }
  await page.waitForURL((url) => !isApprovalPage(url))
}

/** Presses, and answers once the page has asked for the next step. */
export const pressUntilAsked = async (page: Page): Promise<void> => {
  const asked = page.waitForResponse((response) => response.url().endsWith("/ceremony"))
  await Promise.all([asked, page.locator(PART.approve).click()])
}

/** Keeps what this tab sends as its approval on the way until it is let go. */
export const holdApproval = async (page: Page) => {
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(
    "**/approval",
    async (route) => {
      held.resolve()
      await free.promise
      await route.continue()
    },
    { times: 1 }
  )
  return { held: held.promise, letGo: () => free.resolve() }
}

/** Waits until the page offers nothing to press any more. */
export const assertClosed = async (page: Page): Promise<void> => {
  await page.locator(PART.approve).waitFor({ state: "hidden" })
  await page.locator(PART.decline).waitFor({ state: "hidden" })
  assert.notStrictEqual(await seenText(page.locator("h1")), "")
}
