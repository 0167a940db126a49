import { assert } from "@effect/vitest"
import type { Page } from "playwright-core"

/** The smallest target that WCAG 2.2 AA (2.5.8) allows, in CSS pixels, and the one that fingers want. */
export const LEAST_TARGET_PX = 24
export const GOOD_TARGET_PX = 44

/** What sticks out of the window to a side, or is cut off within its own box; the unseen words for screen readers aside. */
export const overflowOf = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const isUnseen = (element: Element) =>
      element.closest("[hidden], .unseen, noscript, head, script") !== null ||
      element.getClientRects().length === 0
    const width = document.documentElement.clientWidth
    const out = [...document.querySelectorAll("body *")].filter((element) => {
      if (isUnseen(element)) return false
      const { clip, overflow } = getComputedStyle(element)
      const { height, left, right, width: own } = element.getBoundingClientRect()
      if (own <= 1 || height <= 1 || clip !== "auto") return false
      const isCut = overflow !== "visible" && element.scrollWidth > element.clientWidth + 1
      return left < -0.5 || right > width + 0.5 || isCut
    })
    const described = out.map(
      (element) => `${element.tagName} ${element.id} ${element.textContent?.slice(0, 30)}`
    )
    const { scrollWidth } = document.scrollingElement!
    return scrollWidth > width ? [`scrolls sideways: ${scrollWidth} in ${width}`, ...described] : described
  })

export const assertFits = async (page: Page, about: string): Promise<void> => {
  assert.deepStrictEqual(await overflowOf(page), [], about)
}

/** Width and height of every control that can be pressed. */
export const targetsOf = (page: Page) =>
  page
    .locator("button:visible, a:visible, summary:visible, input:visible, select:visible")
    .evaluateAll((controls) =>
      controls.map((control) => {
        const { height, width } = control.getBoundingClientRect()
        return { control: control.id || control.textContent || "", height, width }
      })
    )
