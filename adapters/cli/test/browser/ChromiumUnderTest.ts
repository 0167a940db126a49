import { spawnSync } from "node:child_process"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core"

/** Where a browser is looked for when `CHROMIUM_PATH` names none. */
const USUAL_PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "google-chrome"]

/** A program that does not tell its version by then does not run here, in milliseconds. */
const VERSION_TIMEOUT_MS = 20_000
/** Longest wait for anything in a page, in milliseconds: a busy machine is slow, a fault never comes. */
const PATIENCE_MS = 60_000

export const NO_CHROMIUM =
  "Tests in a real browser are skipped: there is no Chromium that runs here. Install chromium (apt-get install chromium) or set CHROMIUM_PATH to one.\n"

/** Distributions put a stand-in where the browser is not installed, so it must say what it is. */
const runs = (program: string): boolean =>
  spawnSync(program, ["--version"], { timeout: VERSION_TIMEOUT_MS, stdio: "ignore" }).status === 0

/** The browser that the tests may use; `undefined` where there is none. A name that was given is the only one tried. */
export const chromiumPath = (named = process.env.CHROMIUM_PATH): string | undefined =>
  (named === undefined || named === "" ? USUAL_PLACES : [named]).find(runs)

const isRoot = process.getuid?.() === 0

/** Nothing but this machine can be reached, under whatever name it is asked for. */
const HOSTS = ["approve.example", "shop.example", "attacker.example"]
const HOST_RULES = [
  ...HOSTS.map((host) => `MAP ${host} 127.0.0.1`),
  "EXCLUDE localhost",
  "EXCLUDE 127.0.0.1",
  "MAP * ~NOTFOUND"
].join(", ")

/**
 * The browser obeys the last list of features alone, so this one repeats what Playwright switches off. With each window
 * the last three would start processes for its address bar and in reserve, and take half of the tests' processor time.
 */
const DISABLED_FEATURES = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "SpareRendererForSitePerProcess"
].join(",")

const argumentsOf = (certificateDigest: string | undefined): Array<string> => [
  // Chromium's sandbox refuses to be set up by root.
  ...(isRoot ? ["--no-sandbox"] : []),
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-domain-reliability",
  "--no-pings",
  `--disable-features=${DISABLED_FEATURES}`,
  `--host-resolver-rules=${HOST_RULES}`,
  ...(certificateDigest === undefined ? [] : [`--ignore-certificate-errors-spki-list=${certificateDigest}`])
]

export interface ChromiumUnderTest {
  readonly browser: Browser
  /** A new browser profile. */
  readonly newContext: (options?: BrowserContextOptions) => Promise<BrowserContext>
  /** Ends every profile but this one. */
  readonly closeContexts: (kept?: BrowserContext) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Starts a browser, which ends with its process when nobody closes it before. Pages that were left are kept, as they are for people (the back/forward cache).
 *
 * @param certificateDigest base64 of the SHA-256 of the public key that the servers show
 */
export const startChromium = async (
  executablePath: string,
  certificateDigest?: string
): Promise<ChromiumUnderTest> => {
  const browser = await chromium.launch({
    executablePath,
    args: argumentsOf(certificateDigest),
    ignoreDefaultArgs: ["--disable-back-forward-cache"]
  })
  const newContext = async (options: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ locale: "en-US", ...options })
    context.setDefaultTimeout(PATIENCE_MS)
    return context
  }
  const closeContexts = async (kept?: BrowserContext) => {
    await Promise.all(browser.contexts().map((context) => (context === kept ? undefined : context.close())))
  }
  return { browser, newContext, closeContexts, close: () => browser.close() }
}
