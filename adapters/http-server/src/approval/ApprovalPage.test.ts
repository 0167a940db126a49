import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { approvalPage, CLOSED_PAGE, UNAVAILABLE_PAGE } from "./ApprovalPage.ts"

const pageOf = (lines: ReadonlyArray<{ readonly label: string; readonly value: string }>) =>
  approvalPage({ locale: "en", lines, now: 0n, expiresAt: 299_500_000_000n })

/** Every tag of a page, as written. */
const tagsOf = (page: string) => page.match(/<[^>]*>/gu) ?? []

describe("approvalPage", () => {
  it("shows the lines in order, those of one label together", () => {
    const page = pageOf([
      { label: "Each month", value: "one" },
      { label: "Each month", value: "two" },
      { label: "Who asks", value: "Shop" }
    ])
    assert.include(
      page,
      '<div><dt dir="auto">Each month</dt><dd dir="auto">one</dd><dd dir="auto">two</dd></div>' +
        '<div><dt dir="auto">Who asks</dt><dd dir="auto">Shop</dd></div>'
    )
  })

  it("says the time limit up front", () => {
    assert.include(pageOf([]), '<span id="timer" role="timer">4:59</span>')
    assert.include(pageOf([]), 'data-remaining="299500"')
  })

  it("has no inline script, style or handler, and loads from its own origin only", () => {
    for (const page of [pageOf([{ label: "a", value: "b" }]), CLOSED_PAGE, UNAVAILABLE_PAGE]) {
      assert.notMatch(page, /<style|\sstyle=|\son\w+=|javascript:/iu)
      assert.notMatch(page, /<script(?![^>]* src=)/iu)
      for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/gu)) {
        assert.match(address!, /^\/assets\/approve\.[0-9a-f]{16}\.(?:js|css)$/u)
      }
    }
  })

  it("shows hostile text as text", () => {
    const hostile = "</dd></dl><script>alert(1)</script><img src=x onerror='alert(\"1\")'>&amp;`x`"
    const page = pageOf([{ label: hostile, value: hostile }])
    assert.deepStrictEqual(tagsOf(page), tagsOf(pageOf([{ label: "x", value: "x" }])))
    assert.include(page, "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x")
    assert.include(page, "&amp;amp;")
  })

  it("lets no text change the page's tags", () => {
    const text = fc.string({ unit: fc.constantFrom("<", ">", '"', "'", "&", "/", "=", "a", "\n", "-", "!") })
    const expected = tagsOf(pageOf([{ label: "x", value: "x" }]))
    fc.assert(
      fc.property(text, text, (label, value) => {
        assert.deepStrictEqual(tagsOf(pageOf([{ label, value }])), expected)
      }),
      { numRuns: 300 }
    )
  })
})
