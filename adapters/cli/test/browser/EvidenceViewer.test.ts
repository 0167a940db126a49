import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { svc } from "@svc/cli/command/SvcCommand"
import { visibleText } from "@svc/domain/approval/VisibleText"
import {
  bytesOf,
  CREATED,
  DAY,
  device,
  keySet,
  ORGANIZATION,
  ORIGIN,
  RP_ID,
  SECOND,
  SUBJECT,
  signPayload
} from "@svc/testkit/EvidenceMaker"
import { CHECKS } from "@svc/verifier"
import { Console, Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsOf } from "./AccessibilityScan.ts"
import { describeFiles } from "./BrowserSuite.ts"
import { approvedJournal, YEAR_LATER, yearOfBooks } from "./SampleEvidence.ts"

const folder = mkdtempSync(join(tmpdir(), "svc-viewer-"))
const viewer = join(folder, "viewer.html")

/** What the command writes into a file. */
beforeAll(async () => {
  const printed: Array<string> = []
  const command = svc(["evidence", "viewer"]).run as Effect.Effect<void>
  await Effect.runPromise(
    Effect.provideService(command, Console.Console, { ...console, log: (text) => void printed.push(text) })
  )
  writeFileSync(viewer, `${printed.join("\n")}\n`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const payload = yearOfBooks().payload(YEAR_LATER)
const evidence = signPayload(payload)
const { head, mandate } = JSON.parse(payload)

interface Files {
  readonly evidence?: object | string
  readonly keys?: object | string
  readonly expected?: Readonly<Record<string, string>>
}

const file = (name: string, content: object | string) => ({
  name,
  mimeType: "application/json",
  buffer: typeof content === "string" ? Buffer.from(content) : Buffer.from(bytesOf(content))
})

/** Opens the viewer, enters the expected values, chooses the files, and waits for what it says. */
const show = async (page: Page, { evidence: given = evidence, expected = {}, keys = keySet }: Files = {}) => {
  await page.goto(pathToFileURL(viewer).href)
  if (Object.keys(expected).length > 0) await page.getByText("Expected values").first().click()
  for (const [id, value] of Object.entries(expected)) {
    const field = page.locator(`#expect-${id}`)
    if (id === "environment") await field.selectOption(value)
    else await field.fill(value)
  }
  await page.locator("#keys-file").setInputFiles(file("jwks.json", keys))
  await page.locator("#evidence-file").setInputFiles(file("evidence.json", given))
  const verdict = page.locator('#verdict:not([data-tone="waiting"])')
  await verdict.waitFor()
  return {
    tone: await verdict.getAttribute("data-tone"),
    title: await verdict.locator("h2").textContent(),
    text: (await verdict.locator("p").textContent()) ?? ""
  }
}

const textOf = async (page: Page, part: string): Promise<string> =>
  (await page.locator(part).textContent()) ?? ""

/** Takes the end off long lists, of which the scan for accessibility learns nothing new. */
const keepFirst = (): void => {
  for (const entry of document.querySelectorAll(":is(.events, .decisions, .budgets) > li:nth-child(n + 7)")) {
    entry.remove()
  }
}

const DEVICES = [
  ["a desktop", { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["a phone", { colorScheme: "dark", viewport: { width: 390, height: 844 } }]
] as const

describeFiles("the evidence viewer in a browser", (newPage) => {
  for (const [name, options] of DEVICES) {
    it(`shows on ${name} what valid evidence proves, without a request or an accessibility fault`, async () => {
      const page = await newPage(options)
      const requests: Array<string> = []
      const complaints: Array<string> = []
      page.on("request", (request) => requests.push(request.url()))
      page.on("console", (message) => complaints.push(message.text()))
      page.on("pageerror", (error) => complaints.push(String(error)))
      const { title, tone } = await show(page)
      assert.strictEqual(title, "Valid, with nothing pinned")
      assert.strictEqual(tone, "success")
      const open = await textOf(page, "#result > .notice")
      for (const check of ["key set", "expected_mandate", "origin", "passkey", "remembered_head"])
        assert.include(open, check)
      assert.include(await textOf(page, "#proved"), `${head.seq}:${head.hash}`)
      assert.include(
        await textOf(page, "#approval"),
        "You allow Riverside Books to make payments of up to €50.00 each"
      )
      assert.include(
        await textOf(page, "#budgets"),
        "EUR 354.50 committed, EUR 49.90 late, EUR 25.00 reserved of at most EUR 600.00"
      )
      await page.locator(".decisions > li").first().waitFor()
      assert.strictEqual(await page.locator(".decisions > li").count(), 27)
      assert.strictEqual(await page.locator(".events > li").count(), head.seq)
      assert.include(
        await textOf(page, ".events > li[data-source=CALLER_REPORTED] >> nth=0"),
        "Caller-reported"
      )
      assert.strictEqual(await page.locator("#checks tbody tr").count(), Object.keys(CHECKS).length)
      await page.evaluate(keepFirst)
      assert.deepStrictEqual(await violationsOf(page), [])
      const [inner, outer] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth])
      assert.strictEqual(outer, inner)
      assert.deepStrictEqual(complaints, [])
      assert.isTrue(
        requests.some((url) => url.startsWith("blob:")),
        "it verifies in a worker, so that long evidence does not stop the page"
      )
      assert.deepStrictEqual(
        requests.filter((url) => !/^(?:file|blob):/u.test(url)),
        []
      )
    })
  }

  it("may not use the network, whatever its program did", async () => {
    const page = await newPage()
    await page.goto(pathToFileURL(viewer).href)
    const refused = await page.evaluate(async () => {
      const violations: Array<string> = []
      addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective))
      const answer = await fetch("http://localhost:9/").catch(() => "none")
      document.body.append(Object.assign(document.createElement("img"), { src: "http://localhost:9/" }))
      await new Promise((done) => setTimeout(done, 50))
      return { answer, violations }
    })
    assert.deepStrictEqual(refused, { answer: "none", violations: ["connect-src", "img-src"] })
  })

  it("says what was pinned, and refuses what contradicts a pin", async () => {
    const page = await newPage()
    const right = {
      mandate: mandate.id,
      organization: ORGANIZATION,
      environment: "test",
      subject: SUBJECT,
      "rp-ids": `other.test, ${RP_ID}`,
      origins: ORIGIN,
      passkeys: `${device.credentialId}:${device.publicKey}`,
      head: `${head.seq}:${head.hash}`
    }
    assert.deepInclude(await show(page, { expected: right }), {
      title: "Valid, and as expected",
      tone: "success"
    })

    const wrong = await show(page, { expected: { head: `${head.seq - 1}:${head.hash}` } })
    assert.deepInclude(wrong, { title: "Invalid: it is not the evidence that you expect", tone: "failure" })
    assert.include(await textOf(page, "#result > .notice"), "remembered_head")
    assert.strictEqual(await page.locator("#proved, #timeline").count(), 0)

    const unreadable = await show(page, { expected: { head: "20" } })
    assert.strictEqual(unreadable.tone, "neutral")
    assert.include(unreadable.text, "The remembered head must be")
    assert.include(unreadable.text, "Nothing was found out about the evidence.")
    await page.locator("#expect-head").fill(`${head.seq}:${head.hash}`)
    await page.getByRole("button", { name: "Verify again" }).click()
    await page.getByText("Valid, with 1 of 8").waitFor()
  })

  it("shows what is wrong with a forgery and nothing that it holds, and tells an outage apart", async () => {
    const page = await newPage()
    const forged = signPayload(payload.replace('"amount":4200', '"amount":42'))
    assert.deepInclude(await show(page, { evidence: forged }), {
      tone: "failure",
      title: "Invalid: do not rely on this evidence"
    })
    assert.include(await textOf(page, "#result > .notice"), "event 4 /hash: it is not that of the event")
    assert.include(await textOf(page, "#checks tr[data-status=fail] >> nth=0"), "chain")
    assert.strictEqual(await page.locator("#proved, #approval, #timeline").count(), 0)
    const outage = await show(page, { keys: "no key set" })
    assert.deepInclude(outage, { tone: "neutral", title: "The evidence was not looked at" })
    assert.include(outage.text, "Nothing was found out about the evidence.")
    const refusal = await show(page, { evidence: { title: "No", status: 404, code: "mandate_not_found" } })
    assert.deepInclude(refusal, { tone: "neutral", title: "The evidence was not looked at" })
    assert.include(
      refusal.text,
      "File 1 of the evidence is the service's refusal to give it, 404 mandate_not_found"
    )
  })

  it("shows hostile texts as text, within a window of 320 px, and long lists in pages", async () => {
    const markup = `</p><script>window.ran = 1</script><img src=x onerror="window.ran = 1">`
    const bidi = "Pay \u202e00.05 RUE\u202c to\u200b \u2066the shop"
    const endless = "W".repeat(255)
    const journal = approvedJournal(
      { allowed_actions: [markup, bidi], allowed_merchants: [endless] },
      {
        mandate: { description: bidi },
        statement: {
          organization_name: endless,
          display: { locale: "en", lines: [{ label: markup, value: `${bidi} ${"long ".repeat(2000)}` }] }
        }
      }
    )
    for (let number = 1; number <= 60; number++) {
      const parts = { action: number % 2 === 0 ? markup : bidi, merchant: number === 1 ? endless : markup }
      journal.propose(number, CREATED + 4n * DAY + BigInt(number) * SECOND, parts)
    }
    const page = await newPage({ viewport: { width: 320, height: 640 } })
    const { title } = await show(page, { evidence: signPayload(journal.payload(CREATED + 5n * DAY)) })
    assert.strictEqual(title, "Valid, with nothing pinned")
    await page.locator(".decisions > li").first().waitFor()
    assert.isUndefined(await page.evaluate(() => Reflect.get(window, "ran")))
    assert.strictEqual(await page.locator("main img, #result script").count(), 0)
    const shown = (await page.locator("#result").textContent()) ?? ""
    assert.notMatch(shown, /[\u200b-\u200f\u202a-\u202e\u2060-\u2069]/u)
    assert.include(shown, markup)
    assert.include(shown, visibleText(bidi))
    assert.include(await textOf(page, "#approval"), "They were in the text that was signed")
    assert.include(await textOf(page, "#approval"), "more characters are not shown")
    assert.strictEqual(await page.evaluate(() => document.documentElement.scrollWidth), 320)

    const decisions = page.locator("#decisions")
    assert.include(await decisions.textContent(), "Decisions 1 to 50 of 60")
    await decisions.getByRole("button", { name: "Later" }).click()
    await page.getByText("Decisions 51 to 60 of 60").waitFor()
    assert.strictEqual(await page.locator(".decisions > li").count(), 10)
    await decisions.getByLabel("Allowed").check()
    await page.getByText("Decisions 1 to 1 of 1").waitFor()
  })

  it("takes files that are dropped, evidence and its continuations in any order, and prints", async () => {
    const page = await newPage()
    await page.goto(pathToFileURL(viewer).href)
    const journal = yearOfBooks()
    const [first, second] = [20, 30].map((seq) =>
      signPayload(journal.continuation(seq, YEAR_LATER), undefined, "svc.evidence.continuation.v1")
    )
    const texts = [keySet, second, first, evidence].map((one) => JSON.stringify(one))
    await page.evaluate((dropped) => {
      const transfer = new DataTransfer()
      for (const [index, text] of dropped.entries()) transfer.items.add(new File([text], `${index}.json`))
      document.body.dispatchEvent(
        new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true })
      )
    }, texts)
    await page.locator("#timeline").waitFor()
    assert.deepStrictEqual(await page.locator("#evidence-names li bdi").allTextContents(), [
      "3.json",
      "2.json",
      "1.json"
    ])
    assert.include(await textOf(page, "#verdict"), "Valid, with nothing pinned")

    await page.emulateMedia({ media: "print", colorScheme: "dark" })
    const ink = await page.evaluate(() => getComputedStyle(document.body).color)
    assert.strictEqual(ink, "rgb(22, 25, 31)")
    for (const part of [
      "#verdict",
      "#proved",
      "#approval",
      "#budgets",
      "#decisions",
      "#timeline",
      "#checks"
    ]) {
      assert.isTrue(await page.locator(part).isVisible(), part)
    }
    assert.isFalse(await page.locator("#files").isVisible())
    assert.isAbove((await page.pdf({ format: "A4" })).length, 10_000)
  })
})
