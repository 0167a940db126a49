import type { DisplayLine } from "@svc/domain/ApprovalStatement"
import { type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { html } from "hono/html"
import { SCRIPT_ASSET, STYLE_ASSET } from "./ApprovalAssets.ts"
import { ENGLISH_WORDS } from "./ApprovalWords.ts"

/** Everything that is put into a template is escaped by it, unless it is a template itself. */
type Markup = ReturnType<typeof html>

const WORDS = ENGLISH_WORDS

const documentOf = (parts: {
  readonly locale: string
  readonly title: string
  readonly head?: Markup
  readonly main: Markup
}): string =>
  String(html`<!doctype html>
<html lang="${parts.locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${parts.title}</title>
<link rel="stylesheet" href="${STYLE_ASSET.path}">
${parts.head ?? ""}
</head>
<body>
${parts.main}
</body>
</html>
`)

/** Lines of one label that follow each other are one term with several descriptions. */
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

/** `dir="auto"`: each text stands for itself, whatever it is written in. */
const groupOf = ({ label, values }: ReturnType<typeof groupsOf>[number]): Markup =>
  html`<div><dt dir="auto">${label}</dt>${values.map((value) => html`<dd dir="auto">${value}</dd>`)}</div>`

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

const clockText = (milliseconds: number): string => {
  const seconds = Math.floor(milliseconds / MILLISECONDS_PER_SECOND)
  const rest = String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")
  return `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${rest}`
}

/**
 * The page of an open session: the statement's lines, the time limit, and two buttons that the script brings to life
 * (part 6). What remains is told as a duration, since the browser's clock may be wrong.
 */
export const approvalPage = (shown: {
  readonly locale: string
  readonly lines: ReadonlyArray<DisplayLine>
  readonly now: Instant
  readonly expiresAt: Instant
}): string => {
  const remaining = Number((shown.expiresAt - shown.now) / NANOS_PER_MILLISECOND)
  return documentOf({
    locale: shown.locale,
    title: WORDS.title,
    head: html`<script type="module" src="${SCRIPT_ASSET.path}"></script>`,
    main: html`<main id="main" data-remaining="${remaining}" data-words="${JSON.stringify(WORDS.script)}">
<h1>${WORDS.title}</h1>
<p>${WORDS.introduction}</p>
<p class="limit"><strong>${WORDS.timeLimit} <span id="timer" role="timer">${clockText(remaining)}</span></strong> ${WORDS.timeLimitReason}</p>
<section aria-labelledby="details">
<h2 id="details" tabindex="-1">${WORDS.details}</h2>
<dl id="lines">
${groupsOf(shown.lines).map(groupOf)}
</dl>
</section>
<p id="how">${WORDS.howPasskeysWork}</p>
<noscript><p class="notice">${WORDS.noScript}</p></noscript>
<p id="no-buttons" class="notice late">${WORDS.noButtons}</p>
<p id="status" class="status" role="status"></p>
<div id="actions" class="actions" hidden>
<button id="approve" class="primary" type="button" aria-describedby="how">${WORDS.script.approve}</button>
<button id="decline" type="button">${WORDS.decline}</button>
</div>
<p id="announcement" class="unseen" role="status"></p>
</main>`
  })
}

const noticePage = (title: string, text: string): string =>
  documentOf({
    locale: "en",
    title,
    main: html`<main id="main">
<h1>${title}</h1>
<p>${text}</p>
</main>`
  })

/** One answer for spent, superseded, expired and unknown tokens. */
export const CLOSED_PAGE = noticePage(WORDS.closedTitle, WORDS.closedText)

export const UNAVAILABLE_PAGE = noticePage(WORDS.unavailableTitle, WORDS.unavailableText)
