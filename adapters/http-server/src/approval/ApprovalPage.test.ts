import { assert, describe, it } from "@effect/vitest"
import type { ClosedCause } from "@svc/domain/approval/ClosedCause"
import { LANGUAGES, type Language } from "@svc/domain/approval/StatementLanguage"
import * as fc from "fast-check"
import {
  approvalPage,
  busyPage,
  closedPage,
  homePage,
  type ShownSession,
  unavailablePage
} from "./ApprovalPage.ts"
import { PAGE_WORDS } from "./words/Dictionaries.ts"
import { ENGLISH } from "./words/English.ts"

const RETURN_ADDRESS = "https://shop.example/return?order=7&return_state=abc&approval_session_id=aps_1"

const pageOf = (shown: Partial<ShownSession> = {}) =>
  approvalPage({
    basePath: "",
    environment: "live",
    language: "en",
    lines: [],
    way: "approve",
    returnAddress: RETURN_ADDRESS,
    now: 0n,
    expiresAt: 299_500_000_000n,
    ...shown
  })

const WAYS = ["register", "approve", "none"] as const

const closed = (language: Language, cause: ClosedCause = "expired") =>
  closedPage(language, { cause, returnAddress: RETURN_ADDRESS, isBoundElsewhere: false }, false, "")

const BACK_LINK = `<a id="back" class="onward" href="${RETURN_ADDRESS.replaceAll("&", "&amp;")}" referrerpolicy="no-referrer">`

/** Every tag of a page, as written. */
const tagsOf = (page: string) => page.match(/<[^>]*>/gu) ?? []

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll('"', "&quot;")

describe("approvalPage", () => {
  it("shows the summary first, then the other lines in order, grouped by label", () => {
    const page = pageOf({
      lines: [
        { label: "In short", value: "all" },
        { label: "Each month", value: "one" },
        { label: "Each month", value: "two" },
        { label: "Who asks", value: "Shop" }
      ]
    })
    const summary = '<div><dt dir="auto">In short</dt><dd dir="auto">all</dd></div>'
    const details =
      '<div><dt dir="auto">Each month</dt><dd dir="auto">one</dd><dd dir="auto">two</dd></div>' +
      '<div><dt dir="auto">Who asks</dt><dd dir="auto">Shop</dd></div>'
    assert.include(page, details)
    const order = [summary, 'id="timer"', details, 'id="ahead"', 'id="approve"', 'id="decline"', 'id="back"']
    const places = order.map((text) => page.indexOf(text))
    assert.notInclude(places, -1)
    assert.deepStrictEqual(
      places,
      places.toSorted((left, right) => left - right)
    )
  })

  it("shows the time limit", () => {
    assert.include(pageOf(), '<span id="timer" role="timer" dir="ltr">4:59</span>')
    assert.include(pageOf(), 'data-remaining="299500"')
  })

  it("explains the next step, and offers no buttons without a way to approve", () => {
    for (const way of WAYS) assert.include(pageOf({ way }), escaped(ENGLISH.ahead[way]))
    assert.include(pageOf({ way: "register" }), `>${ENGLISH.approve.register}</button>`)
    assert.include(pageOf({ way: "approve" }), `>${ENGLISH.approve.approve}</button>`)
    assert.notInclude(pageOf({ way: "none" }), "<button")
  })

  it("links back to the caller, and offers help for a lost passkey", () => {
    for (const way of WAYS) {
      const page = pageOf({ way })
      assert.include(page, `<a id="back" class="aside" href="${RETURN_ADDRESS.replaceAll("&", "&amp;")}"`)
      assert.strictEqual(page.includes(ENGLISH.lostPasskey), way === "approve")
    }
  })

  it("marks the test environment", () => {
    assert.include(pageOf({ environment: "test" }), ENGLISH.test)
    assert.notInclude(pageOf({ environment: "live" }), ENGLISH.test)
  })

  it("is in the requested language and its direction", () => {
    for (const language of LANGUAGES) {
      const direction = language === "ar" || language === "he" ? "rtl" : "ltr"
      const words = PAGE_WORDS[language]
      const pages = [
        pageOf({ language }),
        closed(language),
        unavailablePage(language, ""),
        homePage(language, "")
      ]
      for (const page of pages) {
        assert.include(page, `<html lang="${language}" dir="${direction}">`)
      }
      assert.include(pageOf({ language }), `<h1>${escaped(words.title)}</h1>`)
      assert.include(unavailablePage(language, ""), `>${escaped(words.unavailableTitle)}</h1>`)
      assert.include(busyPage(language, ""), escaped(words.busyText))
      assert.include(homePage(language, ""), `>${escaped(words.home.title)}</h1>`)
    }
  })

  it("has no inline script, style or handler, and loads from its own origin only", () => {
    const pages = WAYS.map((way) => pageOf({ way, lines: [{ label: "a", value: "b" }] }))
    for (const page of [...pages, closed("en"), unavailablePage("en", ""), homePage("en", "")]) {
      assert.notMatch(page, /<style|\sstyle=|\son\w+=|javascript:/iu)
      assert.notMatch(page, /<script(?![^>]* src=)/iu)
      for (const [, address] of page.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"/gu)) {
        assert.match(address!, /^\/assets\/approve\.[0-9a-f]{16}\.(?:js|css|svg)$/u)
      }
    }
  })

  it("shows hostile text as text", () => {
    const hostile = "</dd></dl><script>alert(1)</script><img src=x onerror='alert(\"1\")'>&amp;`x`"
    const page = pageOf({ lines: [{ label: hostile, value: hostile }] })
    assert.deepStrictEqual(tagsOf(page), tagsOf(pageOf({ lines: [{ label: "x", value: "x" }] })))
    assert.include(page, "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x")
    assert.include(page, "&amp;amp;")
  })

  it("has the same tags whatever its texts", () => {
    const text = fc.string({ unit: fc.constantFrom("<", ">", '"', "'", "&", "/", "=", "a", "\n", "-", "!") })
    const expected = tagsOf(pageOf({ lines: [{ label: "x", value: "x" }] }))
    fc.assert(
      fc.property(text, text, (label, value) => {
        assert.deepStrictEqual(tagsOf(pageOf({ lines: [{ label, value }] })), expected)
      }),
      { numRuns: 300 }
    )
  })
})

const CAUSES = Object.keys(ENGLISH.closed) as ReadonlyArray<ClosedCause>

describe("closedPage", () => {
  it("shows one cause and the way back, in every language", () => {
    for (const language of LANGUAGES) {
      const words = PAGE_WORDS[language]
      for (const cause of CAUSES) {
        const page = closed(language, cause)
        const { text, title } = words.closed[cause]
        assert.include(page, `>${escaped(title)}</h1>`)
        assert.include(page, `>${escaped(text)}</p>`)
        assert.include(page, `${BACK_LINK}${escaped(words.script.goBack)}</a>`)
        const others = CAUSES.filter((other) => page.includes(escaped(words.closed[other].title)))
        assert.deepStrictEqual(others, [cause])
      }
    }
  })

  it("says that nothing was approved only where that is known", () => {
    const saying = CAUSES.filter((cause) => /Nothing was approved/u.test(closed("en", cause)))
    assert.deepStrictEqual(saying, ["expired", "replaced", "withdrawn", "declined"])
    assert.notMatch(unavailablePage("en", ""), /nothing/iu)
  })

  it("has the tone of its cause", () => {
    assert.include(closed("en", "expired"), 'class="notice failure"')
    assert.include(closed("en", "approved"), 'class="notice success"')
    assert.include(unavailablePage("en", ""), 'class="notice failure"')
  })

  it("has no link without a way back, and reloads only when told to", () => {
    const page = closedPage("en", { cause: "used", isBoundElsewhere: true }, true, "")
    assert.notInclude(page, "<a ")
    assert.include(page, '<meta http-equiv="refresh" content="0">')
    assert.notInclude(closed("en"), "refresh")
  })
})
