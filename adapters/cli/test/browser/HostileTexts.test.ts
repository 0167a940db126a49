import { assert, it } from "@effect/vitest"
import { approveThrough, linesOf, PART, renderedValues } from "./ApprovalPageReader.ts"
import { describeInBrowser } from "./BrowserSuite.ts"
import { assertFits } from "./PageGeometry.ts"

/** The longest text that a caller may give, in code points (part 1). */
const LONGEST = 255
const NARROW = { width: 320, height: 640 }

const upTo = (text: string): string => [...text.repeat(LONGEST)].slice(0, LONGEST).join("")

const TEXTS: Readonly<Record<string, string>> = {
  "a word without an end": upTo("W"),
  "an address without an end": upTo("https://shop.example/a-b_c?d=e&"),
  markup: `</dd></dl><script>window.ran = 1</script><img src=x onerror="window.ran = 1"><style>*{display:none}</style>`,
  "an entity and a template": "&lt;b&gt; &amp; &#x202e; {{1+1}} <%= 1 %>",
  "bidi overrides": "Pay \u202e00.05 RUE\u202c \u2066hidden\u2069 \u200fto the shop",
  "zero-width characters": "Sh\u200bo\u200dp\u2060 \ufeffLtd\u00ad",
  emoji: upTo("👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🇩🇪"),
  Arabic: upTo("دفعة شهرية للكتب "),
  "Hebrew without spaces": upTo("תשלוםחודשי"),
  "stacked marks": upTo("Z\u0351\u0302\u0310\u030d\u0306\u0314\u0300"),
  "line ends and tabs": "one\ntwo\r\nthree\tfour\u2028five",
  "wide script": upTo("毎月の本の購入")
}

/** What no text may show as itself: it would be invisible, or change how its neighbours look. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/u

/** What the page itself puts around a text that is written from right to left. A caller's own are shown as U+XXXX. */
const ISOLATED = /\u2068([^\u2068\u2069]*)\u2069/gu

const hostileMandate = (text: string) => ({
  description: text,
  policy: {
    currency: "EUR",
    max_amount: 9_007_199_254_740_991,
    allowed_actions: [text],
    allowed_merchants: [text, "mrc_42"],
    attribute_rules: [{ name: [...text].slice(0, 64).join(""), in: [text] }]
  }
})

describeInBrowser("hostile texts of a caller on the approval page (part 6)", {}, (suite) => {
  it("are shown as text, within a window of 320 px, in both directions", async () => {
    const page = await suite.newBrowser({ viewport: NARROW })
    for (const [name, text] of Object.entries(TEXTS)) {
      const link = await suite.site.newLink({ mandate: hostileMandate(text), organization: { name: text } })
      await page.goto(link.url)
      await assertFits(page, name)
      await page.evaluate(() => {
        document.documentElement.dir = "rtl"
      })
      await assertFits(page, `${name}, right to left`)
      const lines = await linesOf(page)
      for (const { label, value } of lines) {
        assert.notMatch((label + value).replace(ISOLATED, "$1"), INVISIBLE, name)
      }
      assert.deepStrictEqual(
        await renderedValues(page),
        lines.map(({ value }) => value),
        name
      )
      assert.isUndefined(await page.evaluate(() => Reflect.get(window, "ran")))
      assert.strictEqual(await page.locator("main script, main img, main style").count(), 0, name)
      assert.isTrue(await page.locator(PART.approve).isVisible(), name)
    }
  })

  it("are signed as shown", async () => {
    const text = `${TEXTS.markup} ${TEXTS["bidi overrides"]} ${TEXTS["zero-width characters"]}`
    const link = await suite.site.newLink({ mandate: hostileMandate(text.slice(0, LONGEST)) })
    const { page } = await suite.visit(link)
    const shown = await linesOf(page)
    await approveThrough(page)
    assert.deepStrictEqual((await suite.site.approval(link.mandateId)).statement.display.lines, shown)
  })
})
