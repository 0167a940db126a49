import type { DisplayLine } from "@svc/domain/approval/ApprovalStatement"
import type { ClosedCause } from "@svc/domain/approval/ClosedCause"
import { directionOf, type Language } from "@svc/domain/approval/StatementLanguage"
import type { WayToApprove } from "@svc/domain/approval/SubjectPasskeys"
import type { ClosedLink } from "@svc/domain/programs/ceremony/ReadClosedLink"
import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { html } from "hono/html"
import { ICON_ASSET, SCRIPT_ASSET, STYLE_ASSET } from "./ApprovalAssets.ts"
import { PAGE_WORDS } from "./words/Dictionaries.ts"
import type { Notice, PageWords } from "./words/PageWords.ts"

/** A template escapes what is interpolated, except other templates. */
type Markup = ReturnType<typeof html>

const NOTHING = html``

/** `basePath`: path of the approval base URL, which the addresses of assets begin with. */
const documentOf = (parts: {
  readonly language: Language
  readonly basePath: string
  readonly title: string
  readonly head?: Markup
  readonly main: Markup
}): string =>
  String(html`<!doctype html>
<html lang="${parts.language}" dir="${directionOf(parts.language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>${parts.title}</title>
<link rel="icon" type="image/svg+xml" href="${parts.basePath}${ICON_ASSET.path}">
<link rel="stylesheet" href="${parts.basePath}${STYLE_ASSET.path}">
${parts.head ?? NOTHING}
</head>
<body>
${parts.main}
</body>
</html>
`)

/** Consecutive lines with the same label become one term with several descriptions. */
const groupsOf = (
  lines: ReadonlyArray<DisplayLine>
): ReadonlyArray<{ readonly label: string; readonly values: ReadonlyArray<string> }> => {
  const groups: Array<{ label: string; values: Array<string> }> = []
  for (const { label, value } of lines) {
    const last = groups.at(-1)
    if (last?.label === label) last.values.push(value)
    else groups.push({ label, values: [value] })
  }
  return groups
}

/** `dir="auto"`, since labels and values may be in scripts of different direction. */
const groupOf = ({ label, values }: ReturnType<typeof groupsOf>[number]): Markup =>
  html`<div><dt dir="auto">${label}</dt>${values.map((value) => html`<dd dir="auto">${value}</dd>`)}</div>`

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

const clockText = (milliseconds: number): string => {
  const seconds = Math.floor(milliseconds / MILLISECONDS_PER_SECOND)
  const rest = String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")
  return `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${rest}`
}

/** The content of the page of an open session. */
export interface ShownSession {
  readonly environment: "test" | "live"
  readonly language: Language
  /** Path of the approval base URL; empty for one without a path. */
  readonly basePath: string
  /** The first line summarizes the statement in a sentence. */
  readonly lines: ReadonlyArray<DisplayLine>
  readonly way: WayToApprove
  readonly returnAddress: string
  readonly now: Instant
  readonly expiresAt: Instant
}

const timeLimit = (words: PageWords, remaining: number): Markup =>
  html`<p id="limit" class="limit"><strong>${words.timeLimit} <span id="timer" role="timer" dir="ltr">${clockText(remaining)}</span></strong> ${words.timeLimitReason}</p>`

/** The script compares the lines in `#lines` with the statement before it asks for a signature. */
const statement = (words: PageWords, limit: Markup, lines: ReadonlyArray<DisplayLine>): Markup => {
  const [summary, ...details] = groupsOf(lines)
  return html`<div id="lines">
<dl class="summary">
${summary === undefined ? NOTHING : groupOf(summary)}
</dl>
${limit}
<h2 id="details" tabindex="-1">${words.details}</h2>
<p class="soft">${words.detailsReason} ${words.introduction}</p>
<dl class="details">
${details.map(groupOf)}
</dl>
</div>`
}

const buttons = (words: PageWords, way: Exclude<WayToApprove, "none">): Markup =>
  html`<noscript><p class="notice">${words.noScript}</p></noscript>
<p id="no-buttons" class="notice late">${words.noButtons}</p>
<p id="status" class="status" role="status"></p>
<div id="actions" class="actions" hidden>
<button id="approve" class="primary" type="button" aria-describedby="ahead">${words.approve[way]}</button>
<button id="decline" type="button">${words.decline}</button>
</div>`

/** A link out of the page, without a referrer, since the address holds the token. */
const backLink = (address: string, text: string, style: "aside" | "onward"): Markup =>
  html`<p><a id="back" class="${style}" href="${address}" referrerpolicy="no-referrer">${text}</a></p>`

/** Stays visible during the last minute, wherever the page is scrolled. Hidden from screen readers, which have the announcements. */
const hurry = (words: PageWords): Markup =>
  html`<p id="hurry" class="hurry" aria-hidden="true" hidden>${words.timeLimit} <span id="hurry-timer" dir="ltr"></span></p>`

/** The way back to the caller, undecided, for users who cannot use their passkey. */
const wayBack = (words: PageWords, way: WayToApprove, address: string): Markup => {
  const link = backLink(address, words.goBack, "aside")
  return way === "approve"
    ? html`<details id="lost"><summary>${words.lostPasskey}</summary><p>${words.lostPasskeyText}</p></details>
${link}`
    : link
}

/**
 * The page of an open session: the statement, the time limit, the next step, and two buttons that the script activates
 * (part 6). The time left is given as a duration, since the browser's clock may be wrong.
 */
export const approvalPage = (shown: ShownSession): string => {
  const { basePath, language, way } = shown
  const words = PAGE_WORDS[language]
  const remaining = Number((shown.expiresAt - shown.now) / NANOS_PER_MILLISECOND)
  return documentOf({
    language,
    basePath,
    title: words.title,
    head: html`<script type="module" src="${basePath}${SCRIPT_ASSET.path}"></script>`,
    main: html`<main id="main" data-remaining="${remaining}" data-words="${JSON.stringify(words.script)}">
${shown.environment === "test" ? html`<p class="test">${words.test}</p>` : NOTHING}
<h1>${words.title}</h1>
${statement(words, timeLimit(words, remaining), shown.lines)}
<p id="ahead" class="${way === "none" ? "notice" : "ahead"}">${words.ahead[way]}</p>
${way === "none" ? NOTHING : buttons(words, way)}
${wayBack(words, way, shown.returnAddress)}
${hurry(words)}
<p id="announcement" class="unseen" role="status"></p>
<p id="alarm" class="unseen" role="alert"></p>
</main>`
  })
}

/** The style of a notice. */
type Tone = "success" | "failure" | "neutral"

/** The heading has the focus, so that screen readers announce the new page. */
const noticePage = (
  language: Language,
  { text, title }: Notice,
  parts: { readonly basePath: string; readonly tone: Tone; readonly link?: Markup; readonly head?: Markup }
): string =>
  documentOf({
    language,
    basePath: parts.basePath,
    title,
    head: parts.head ?? NOTHING,
    main: html`<main id="main">
<h1 tabindex="-1" autofocus>${title}</h1>
<p class="notice ${parts.tone}">${text}</p>
${parts.link ?? NOTHING}
</main>`
  })

const TONES: Readonly<Record<ClosedCause, Tone>> = {
  unknown: "failure",
  expired: "failure",
  replaced: "failure",
  withdrawn: "failure",
  used: "neutral",
  approved: "success",
  declined: "neutral"
}

/** Reloads the page at once: browsers withhold `SameSite=Strict` cookies from a navigation that another site started. */
const RELOAD = html`<meta http-equiv="refresh" content="0">`

/** The page of a closed link: the cause and, for the bound browser, the way back (part 6). */
export const closedPage = (
  language: Language,
  link: ClosedLink,
  reloads: boolean,
  basePath: string
): string => {
  const words = PAGE_WORDS[language]
  const { returnAddress } = link
  return noticePage(language, words.closed[link.cause], {
    basePath,
    tone: TONES[link.cause],
    ...(returnAddress === undefined ? {} : { link: backLink(returnAddress, words.script.goBack, "onward") }),
    ...(reloads ? { head: RELOAD } : {})
  })
}

/** The page while the store is unavailable. */
export const unavailablePage = (language: Language, basePath: string): string => {
  const { unavailableText: text, unavailableTitle: title } = PAGE_WORDS[language]
  return noticePage(language, { text, title }, { basePath, tone: "failure" })
}

/** The page after too many invalid links from the client's address. */
export const busyPage = (language: Language, basePath: string): string => {
  const { busyText: text, unavailableTitle: title } = PAGE_WORDS[language]
  return noticePage(language, { text, title }, { basePath, tone: "failure" })
}

/** The page at `/`, for visitors without a link. */
export const homePage = (language: Language, basePath: string): string =>
  noticePage(language, PAGE_WORDS[language].home, { basePath, tone: "neutral" })
