import { assert, it } from "@effect/vitest"
import type { Page, Request } from "playwright-core"
import { approveThrough, mainText, PART, settled, watchPosts } from "./ApprovalPageReader.ts"
import type { ApprovalLink } from "./ApprovalSite.ts"
import { addAuthenticator } from "./Authenticator.ts"
import { describeInBrowser } from "./BrowserSuite.ts"
import { assertSays } from "./PageWordChecks.ts"

/** The most that all of the page may weigh on its way, in bytes of bodies. */
const TRANSFER_BYTES = 60_000

const ACTIONS = ["ceremony", "passkey", "approval", "decline"]

const BOT = "Mozilla/5.0 (compatible; LinkPreviewBot/1.0; +https://bot.example)"

/** A feature that this build of the browser lacks is denied for the builds that have it. */
const UNKNOWN_FEATURE = "Permissions-Policy header: Unrecognized feature"

/** Whatever the browser finds to complain about from now on: violations of policies, errors, warnings. */
const complaintsOf = (page: Page): ReadonlyArray<string> => {
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (message.text().includes(UNKNOWN_FEATURE)) return
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(error.message))
  return complaints
}

describeInBrowser("the approval origin in a browser, over HTTPS (part 6)", { isSecure: true }, (suite) => {
  const stateOf = async (mandateId: string) => (await suite.site.mandate(mandateId)).state

  const assertStillApproves = async (link: ApprovalLink) => {
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    const { page } = await suite.visit(link)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  }

  /** A page of another site. */
  const attackerPage = async () => {
    const page = await suite.newTab()
    await page.goto(`${suite.site.attackerOrigin}/trap`)
    return page
  }

  it("completes an approval without console errors, foreign requests or heavy assets", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser()
    await addAuthenticator(page)
    const complaints = complaintsOf(page)
    const requests: Array<string> = []
    const finished: Array<Request> = []
    page.on("request", (request) => requests.push(request.url()))
    page.on("requestfinished", (request) => {
      if (new URL(request.url()).origin === suite.site.origin) finished.push(request)
    })
    await page.goto(link.url)
    await approveThrough(page)
    assert.deepStrictEqual(complaints, [])
    const left = requests.findIndex((url) => new URL(url).origin === suite.site.shopOrigin)
    const foreign = requests.slice(0, left).filter((url) => new URL(url).origin !== suite.site.origin)
    assert.deepStrictEqual(foreign, [])
    const sizes = await Promise.all(finished.map((request) => request.sizes()))
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
    assert.isAbove(bytes, 1000)
    assert.isBelow(bytes, TRANSFER_BYTES)
  })

  it("hides its cookie from scripts, other hosts and other sites", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link, { authenticator: { isUserVerified: false } })
    assert.deepStrictEqual(await page.context().cookies(), [])
    await page.locator(PART.approve).click()
    await settled(page)
    const [cookie, ...others] = await page.context().cookies()
    assert.deepStrictEqual(others, [])
    const { domain, httpOnly, name, path, sameSite, secure } = cookie!
    assert.deepStrictEqual(
      { domain, httpOnly, name, path, sameSite, secure },
      {
        domain: "approve.example",
        httpOnly: true,
        name: `__Host-svc_${link.sessionId}`,
        path: "/",
        sameSite: "Strict",
        secure: true
      }
    )
    assert.strictEqual(await page.evaluate(() => document.cookie), "")
    // Another site's navigation carries none, and is shown the page all the same.
    await page.goto(`${suite.site.attackerOrigin}/trap`)
    const followed = page.waitForRequest(link.url)
    await page.evaluate((url) => location.assign(url), link.url)
    assert.isUndefined((await (await followed).allHeaders()).cookie)
    await page.waitForURL(link.url)
    assert.isTrue(await page.locator(PART.approve).isVisible())
  })

  it("shows returning users their decision, and the way back", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    await approveThrough(page)
    // A link of another site brings no cookie along: the page asks once more.
    const answers: Array<number> = []
    page.on("response", (response) => {
      if (response.url() === link.url) answers.push(response.status())
    })
    await page.evaluate((url) => location.assign(url), link.url)
    await page.locator(PART.back).waitFor()
    assertSays(await mainText(page), "approved")
    assert.deepStrictEqual(answers, [410, 410])
    await page.locator(PART.back).click()
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    const stranger = await suite.newBrowser()
    await stranger.goto(`${suite.site.shopOrigin}/mail`)
    const asked = stranger.waitForResponse(
      (response) =>
        response.request().headers()["sec-fetch-site"] !== "cross-site" && response.url() === link.url
    )
    await stranger.evaluate((url) => location.assign(url), link.url)
    await asked
    assertSays(await mainText(stranger), "used")
  })

  it("sends no referrer", async () => {
    const link = await suite.site.newLink()
    const { page } = await suite.visit(link)
    const before = suite.site.requests.length
    await approveThrough(page)
    await page.waitForLoadState()
    // Who goes back without deciding is as much nobody's business.
    const undecided = await suite.site.newLink()
    await page.goto(undecided.url)
    await page.locator(PART.back).click()
    await page.waitForURL((url) => url.origin === suite.site.shopOrigin)
    assert.strictEqual(await stateOf(undecided.mandateId), "PENDING_APPROVAL")
    const seen = suite.site.requests.slice(before)
    assert.isNotEmpty(seen)
    for (const { headers, url } of seen) {
      assert.isUndefined(headers.referer)
      for (const { token } of [link, undecided]) assert.notInclude(url + JSON.stringify(headers), token)
    }
    assert.strictEqual(await page.evaluate(() => document.referrer), "")
    const log = suite.site.log.join("\n")
    assert.include(log, "/approve/{token}")
    assert.notInclude(log, link.token)
  })

  it("cannot be framed", async () => {
    const link = await suite.site.newLink()
    for (const origin of [suite.site.attackerOrigin, suite.site.shopOrigin]) {
      const page = await suite.newTab()
      await page.goto(`${origin}/trap`)
      for (const element of ["iframe", "object", "embed"]) {
        const answered = page.waitForResponse(link.url)
        await page.evaluate(
          ([name, url]) => {
            const frame = document.createElement(name!)
            frame.setAttribute(name === "object" ? "data" : "src", url!)
            document.body.append(frame)
          },
          [element, link.url]
        )
        await answered
      }
      await page.waitForTimeout(300)
      for (const frame of page.frames().slice(1)) {
        assert.strictEqual(await frame.locator("#main, #approve, #lines").count(), 0, frame.url())
      }
    }
  })

  it("runs no scripts and applies no styles but its own", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    const complaints = complaintsOf(page)
    await page.goto(link.url)
    const ran = await page.evaluate(async (foreign) => {
      const attempts: Array<() => void> = [
        () => {
          const script = document.createElement("script")
          script.textContent = "window.ran = 'inline script'"
          document.body.append(script)
        },
        () => {
          const script = document.createElement("script")
          script.src = `${foreign}/script.js`
          document.body.append(script)
        },
        () => {
          document.body.setAttribute("onclick", "window.ran = 'handler'")
          document.body.click()
        },
        () => {
          document.body.innerHTML += "<img src=x onerror=\"window.ran = 'markup'\">"
        },
        () => {
          const style = document.createElement("style")
          style.textContent = "#main { display: none }"
          document.head.append(style)
        },
        () => document.getElementById("main")?.setAttribute("style", "display: none"),
        () => {
          const image = new Image()
          image.src = `${foreign}/pixel.gif`
          document.body.append(image)
        },
        () => void fetch(`${foreign}/leak`, { mode: "no-cors" }).catch(() => undefined),
        () => void navigator.sendBeacon(`${foreign}/beacon`),
        () => {
          const base = document.createElement("base")
          base.href = foreign
          document.head.append(base)
        },
        () => {
          const form = document.createElement("form")
          form.action = `${foreign}/form`
          form.method = "post"
          document.body.append(form)
          form.submit()
        },
        () => {
          const frame = document.createElement("iframe")
          frame.src = `${foreign}/frame`
          document.body.append(frame)
        }
      ]
      for (const attempt of attempts) {
        try {
          attempt()
        } catch {
          // Refused at once: as good as refused later.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 300))
      return { base: document.baseURI, ran: Reflect.get(window, "ran") }
    }, suite.site.attackerOrigin)
    assert.isUndefined(ran.ran)
    assert.strictEqual(ran.base, link.url)
    assert.strictEqual(page.url(), link.url)
    assert.isTrue(await page.locator(PART.lines).isVisible())
    assert.isAbove(complaints.length, 5)
    const reached = suite.site.requests.map(({ url }) => url)
    for (const path of ["/script.js", "/pixel.gif", "/leak", "/beacon", "/form", "/frame"]) {
      assert.notInclude(reached, path)
    }
  })

  it("is not changed by requests of other sites, of whatever form", async () => {
    const link = await suite.site.newLink()
    // The browser of the victim, which holds the cookie.
    const { authenticator, page } = await suite.visit(link, { authenticator: { isUserVerified: false } })
    await page.locator(PART.approve).click()
    await settled(page)
    for (const origin of [suite.site.attackerOrigin, suite.site.shopOrigin]) {
      const trap = await page.context().newPage()
      await trap.goto(`${origin}/trap`)
      const statuses: Array<number> = []
      trap.on("response", (response) => {
        if (response.request().method() === "POST") statuses.push(response.status())
      })
      const readable = await trap.evaluate(
        async ([url, actions]) => {
          const seen: Array<string> = []
          for (const action of actions as ReadonlyArray<string>) {
            for (const init of [
              { mode: "no-cors", body: "{}" },
              {
                mode: "no-cors",
                credentials: "include",
                body: "{}",
                headers: { "content-type": "text/plain" }
              },
              { credentials: "include", body: "{}", headers: { "content-type": "application/json" } }
            ] as ReadonlyArray<RequestInit>) {
              await fetch(`${url}/${action}`, { method: "POST", ...init }).then(
                (response) => seen.push(response.type),
                () => seen.push("refused")
              )
            }
          }
          return seen
        },
        [link.url, ACTIONS] as const
      )
      assert.isEmpty(readable.filter((type) => type !== "opaque" && type !== "refused"))
      for (const action of ["approval", "decline"]) {
        const answered = trap.waitForResponse((response) => response.url().endsWith(`/${action}`))
        await trap.evaluate((url) => {
          const form = document.createElement("form")
          form.action = url
          form.method = "post"
          form.enctype = "text/plain"
          const field = document.createElement("input")
          field.name = '{"a":"'
          field.value = '"}'
          form.append(field)
          document.body.append(form)
          form.submit()
        }, `${link.url}/${action}`)
        assert.strictEqual((await answered).status(), 403)
        await trap.waitForURL(`${link.url}/${action}`)
        await trap.goto(`${origin}/trap`)
      }
      assert.isNotEmpty(statuses)
      for (const status of statuses) assert.strictEqual(status, 403)
    }
    assert.strictEqual(await stateOf(link.mandateId), "PENDING_APPROVAL")
    await page.bringToFront()
    await authenticator.setUserVerified(true)
    await approveThrough(page)
    assert.strictEqual(await stateOf(link.mandateId), "ACTIVE")
  })

  it("shares no window reference with another site", async () => {
    const link = await suite.site.newLink()
    const trap = await attackerPage()
    const opened = trap.context().waitForEvent("page")
    await trap.evaluate((url) => {
      Reflect.set(window, "opened", window.open(url))
    }, link.url)
    const page = await opened
    await page.locator(PART.approve).waitFor()
    assert.isTrue(await page.evaluate(() => window.opener === null))
    assert.isTrue(await trap.evaluate(() => (Reflect.get(window, "opened") as Window).closed))
    assert.isFalse(page.isClosed())
  })

  it("does not use up the token for link previews, scanners and prefetching", async () => {
    const link = await suite.site.newLink()
    const context = await suite.chromium.newContext({ userAgent: BOT })
    for (const method of ["HEAD", "GET", "GET"]) {
      const headers = { "user-agent": BOT, purpose: "prefetch" }
      const { status } = await suite.site.request(new URL(link.url).pathname, { method, headers })
      assert.strictEqual(status, 200)
    }
    const scanner = await context.newPage()
    const posts = watchPosts(scanner)
    await scanner.goto(link.url)
    const shop = await context.newPage()
    await shop.goto(`${suite.site.shopOrigin}/mail`)
    await shop.evaluate((url) => {
      for (const rel of ["prefetch", "prerender", "preload"]) {
        const hint = document.createElement("link")
        hint.rel = rel
        hint.href = url
        document.head.append(hint)
      }
    }, link.url)
    await shop.waitForTimeout(300)
    assert.isEmpty(posts)
    await assertStillApproves(link)
  })

  it("permits passkeys and no other browser feature", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newTab()
    const response = await page.goto(link.url)
    assert.match(response?.headers()["strict-transport-security"] ?? "", /^max-age=\d{8,}/u)
    const allowed = await page.evaluate(() => {
      const policy = Reflect.get(document, "featurePolicy") as {
        allowedFeatures: () => ReadonlyArray<string>
      }
      return policy.allowedFeatures()
    })
    for (const feature of ["publickey-credentials-get", "publickey-credentials-create"]) {
      assert.include(allowed, feature)
    }
    const powerful = ["camera", "microphone", "geolocation", "payment", "usb", "clipboard-read", "fullscreen"]
    assert.isEmpty(powerful.filter((feature) => allowed.includes(feature)))
  })

  it("is remembered as HTTPS only", async () => {
    const link = await suite.site.newLink()
    const page = await suite.newBrowser()
    await page.goto(link.url)
    const plain = link.url.replace("https:", "http:")
    await page.goto(plain)
    assert.strictEqual(page.url(), link.url)
  })
})
