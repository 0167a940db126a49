import type { Page } from "playwright-core"
import { PART } from "./ApprovalPageReader.ts"

/**
 * A clock that stands where it was set, while timers go on. A clock that is moved takes the timeouts of what the page is
 * waiting for along, so that a slow machine would answer too late.
 */
export interface StandingClock {
  /** Moves the clock to so many seconds before the end of the session of the page, and waits until the page has seen it. */
  readonly setSecondsLeft: (seconds: number) => Promise<void>
}

const MILLISECONDS_PER_SECOND = 1000

/** To be called before the page is opened. */
export const standClock = async (page: Page): Promise<StandingClock> => {
  const openedAt = Date.now()
  await page.clock.setFixedTime(openedAt)
  const setSecondsLeft = async (seconds: number) => {
    const remaining = Number(await page.locator("main").getAttribute("data-remaining"))
    await page.clock.setFixedTime(openedAt + remaining - seconds * MILLISECONDS_PER_SECOND)
    if (seconds === 0) return
    const shown = `0:${String(seconds).padStart(2, "0")}`
    await page.locator(PART.timer, { hasText: shown }).waitFor()
  }
  return { setSecondsLeft }
}
