import { afterAll, afterEach, beforeAll, describe } from "@effect/vitest"
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { approveThrough } from "./ApprovalPageReader.ts"
import { type ApprovalLink, type ApprovalSite, openSite } from "./ApprovalSite.ts"
import {
  type Authenticator,
  type AuthenticatorOptions,
  addAuthenticator,
  type StoredPasskey
} from "./Authenticator.ts"
import { type ChromiumUnderTest, chromiumPath, startChromium } from "./ChromiumUnderTest.ts"
import { selfSignedCertificate } from "./SelfSignedCertificate.ts"

/** Hosts that the certificate of a suite over HTTPS names. */
const HOSTS = ["approve.example", "shop.example", "attacker.example"]

/** A browser takes its time on a busy machine, in milliseconds. */
export const TEST_TIMEOUT_MS = 240_000

export interface SuiteOptions {
  /** Whether the site is served over HTTPS, on hosts that have nothing in common. Default: on `http://localhost`. */
  readonly isSecure?: boolean
  /** Of the browser profile that the tests share. */
  readonly profile?: BrowserContextOptions
}

/** A person who sits before a page with a device that has a screen lock. */
export interface Visit {
  readonly page: Page
  readonly authenticator: Authenticator
}

/** What the tests of a suite share. A new profile takes a browser seconds of processor time, a new tab much less. */
export interface BrowserSuite {
  readonly site: ApprovalSite
  readonly chromium: ChromiumUnderTest
  /** A tab of the profile that the tests share. It ends with its test, as do the cookies of the profile. */
  readonly newTab: () => Promise<Page>
  /** A tab of a new profile, which ends with its test: another browser, with nothing in its cache. */
  readonly newBrowser: (options?: BrowserContextOptions) => Promise<Page>
  /** Follows the link in a new tab, or in the tab given. */
  readonly visit: (
    link: ApprovalLink,
    options?: { readonly page?: Page; readonly authenticator?: AuthenticatorOptions }
  ) => Promise<Visit>
  /** Somebody who has approved once, with the passkey that came of it. The same name is the same person. */
  readonly knownPerson: (name?: string) => Promise<KnownPerson>
}

export interface KnownPerson {
  readonly subject: string
  /** Its counter is above that of every use so far. */
  readonly passkey: StoredPasskey
}

/** More than one test ever counts a passkey on. */
const COUNTER_STEP = 100

const program = chromiumPath()

/** Of every site over HTTPS, so that one browser does for all. */
const certificate = selfSignedCertificate(HOSTS)

/** The browser of all suites that this process runs, which ends with it. */
let shared: Promise<ChromiumUnderTest> | undefined
const sharedChromium = (): Promise<ChromiumUnderTest> => {
  shared ??= startChromium(program!, certificate.digest)
  return shared
}

/** A suite of pages that need no site. Where there is no browser its tests are skipped. */
export const describeFiles = (
  name: string,
  tests: (newPage: (options?: BrowserContextOptions) => Promise<Page>) => void
): void => {
  describe.skipIf(program === undefined)(name, { timeout: TEST_TIMEOUT_MS }, () => {
    afterEach(async () => (await sharedChromium()).closeContexts(), TEST_TIMEOUT_MS)
    tests(async (options) => (await (await sharedChromium()).newContext(options)).newPage())
  })
}

/** A suite with a site of its own. Where there is no browser its tests are skipped. */
export const describeInBrowser = (
  name: string,
  { isSecure = false, profile = {} }: SuiteOptions,
  tests: (suite: BrowserSuite) => void
): void => {
  describe.skipIf(program === undefined)(name, { timeout: TEST_TIMEOUT_MS }, () => {
    let chromium: ChromiumUnderTest | undefined
    let site: ApprovalSite | undefined
    let sharedProfile: BrowserContext | undefined

    beforeAll(async () => {
      site = await openSite(isSecure ? { certificate } : {})
      chromium = await sharedChromium()
      sharedProfile = await chromium.newContext({ ...profile })
    }, TEST_TIMEOUT_MS)
    afterEach(async () => {
      site?.setStoreOut(false)
      await chromium?.closeContexts(sharedProfile)
      await Promise.all((sharedProfile?.pages() ?? []).map((page) => page.close()))
      await sharedProfile?.clearCookies()
    }, TEST_TIMEOUT_MS)
    afterAll(async () => {
      await sharedProfile?.close()
      await site?.close()
    }, TEST_TIMEOUT_MS)

    const newTab = () => sharedProfile!.newPage()
    const newBrowser = async (options: BrowserContextOptions = {}) =>
      await (await chromium!.newContext({ ...profile, ...options })).newPage()

    const visit: BrowserSuite["visit"] = async (link, { authenticator: device, page: given } = {}) => {
      const page = given ?? (await newTab())
      const authenticator = await addAuthenticator(page, device)
      await page.goto(link.url)
      return { page, authenticator }
    }

    const people = new Map<string, KnownPerson>()
    const meet = async (): Promise<KnownPerson> => {
      const link = await site!.newLink()
      const { authenticator, page } = await visit(link, { page: await newBrowser() })
      await approveThrough(page)
      const [passkey] = await authenticator.passkeys()
      await page.context().close()
      return { subject: link.subject, passkey: passkey! }
    }

    tests({
      get site() {
        return site!
      },
      get chromium() {
        return chromium!
      },
      newTab,
      newBrowser,
      visit,
      knownPerson: async (name = "somebody") => {
        const { passkey, subject } = people.get(name) ?? (await meet())
        const person = { subject, passkey: { ...passkey, signCount: passkey.signCount + COUNTER_STEP } }
        people.set(name, person)
        return person
      }
    })
  })
}
