import { causesOf, PROBLEM_CODES, PROBLEMS, problemPath, repetitionOf } from "@svc/protocol/Problem"
import { basePathOf } from "../http/BasePath.ts"
import { listOf, type Node, nodeOf, nodesOf, textOf } from "./DocumentNode.ts"
import { escaped, inlineProse, prose, slugOf } from "./Markdown.ts"
import { headerList } from "./MemberList.ts"
import { operationSection, operationsOf, resourceSection, tagAnchor, webhookSection } from "./Operations.ts"
import { ICON_ASSET, SCRIPT_ASSET, STYLE_ASSET } from "./ReferenceAssets.ts"
import type { SampleFacts } from "./Samples.ts"

const WEBHOOKS = "Webhooks"

/** Request bodies and pages of lists are described with their operations instead. */
const isResource = ([name, schema]: readonly [string, Node], requests: ReadonlySet<string>): boolean =>
  !requests.has(name) && nodeOf(schema, "properties").data === undefined && name !== "WebhookEvent"

const isJournal = (name: string): boolean => name === "JournalEvent" || name === "FeedEvent"

const resourcesOf = (document: Node): ReadonlyArray<readonly [string, Node]> => {
  const requests = new Set(
    operationsOf(document).map(({ operation }) => {
      const body = nodeOf(nodeOf(nodeOf(operation, "requestBody"), "content"), "application/json")
      return textOf(nodeOf(body, "schema"), "$ref").split("/").at(-1) ?? ""
    })
  )
  // An event has a member `data` too, but is not a page of a list.
  return nodesOf(nodeOf(nodeOf(document, "components"), "schemas"))
    .filter((one) => isJournal(one[0]) || isResource(one, requests))
    .toSorted(([first], [second]) => first.localeCompare(second))
}

const problemItem = (code: keyof typeof PROBLEMS, basePath: string): string => {
  const { remedy, status, title } = PROBLEMS[code]
  return `<li id="problem.${code}"><div class="member"><a class="anchor" href="#problem.${code}"><code class="name">${code}</code></a><span class="type">${status}</span><span class="optional">${repetitionOf(code)}</span></div><p><strong>${escaped(title)}.</strong> ${inlineProse(causesOf(code))} ${inlineProse(remedy)} <a href="${basePath}${problemPath(code)}" aria-label="The page of ${code}">Page</a></p></li>`
}

/** The problem codes of the API, without those of the approval pages alone. */
const apiCodes = (document: Node) => {
  const examples = new Set(
    nodesOf(nodeOf(nodeOf(document, "components"), "examples")).map(([, { value }]) => codeIn(value))
  )
  return PROBLEM_CODES.filter((code) => examples.has(code))
}

const codeIn = (value: unknown): string => textOf({ ...(value as Node) }, "code")

const headersOf = (document: Node): string => {
  const names = new Map<string, Node>()
  const headers = nodeOf(nodeOf(document, "components"), "headers")
  const answers = operationsOf(document).flatMap(({ operation }) => nodesOf(nodeOf(operation, "responses")))
  const responses = nodesOf(nodeOf(nodeOf(document, "components"), "responses"))
  for (const [, answer] of [...answers, ...responses]) {
    for (const [name, { $ref }] of nodesOf(nodeOf(answer, "headers"))) {
      if (!names.has(name)) names.set(name, nodeOf(headers, String($ref).split("/").at(-1)!))
    }
  }
  return headerList([...names])
}

interface NavigationEntry {
  readonly href: string
  readonly label: string
  readonly method?: string
}

const navigationList = (entries: ReadonlyArray<NavigationEntry>): string =>
  `<ul>${entries
    .map(({ href, label, method }) => {
      const verb = method === undefined ? "" : `<span class="method ${method}">${method.toUpperCase()}</span>`
      return `<li><a href="#${href}">${verb}${escaped(label)}</a></li>`
    })
    .join("")}</ul>`

const group = (title: string, entries: ReadonlyArray<NavigationEntry>): string =>
  `<h2>${escaped(title)}</h2>${navigationList(entries)}`

const headings = (markdown: string): ReadonlyArray<NavigationEntry> =>
  [...markdown.matchAll(/^## (.+)$/gmu)].map(([, label]) => ({ href: slugOf(label!), label: label! }))

const navigation = (document: Node): string => {
  const introduction = headings(textOf(nodeOf(document, "info"), "description"))
  const operations = operationsOf(document)
  const tags = listOf(document, "tags").map((tag) => textOf(tag, "name"))
  const groups = tags
    .filter((tag) => tag !== WEBHOOKS)
    .map((tag) =>
      group(
        tag,
        operations
          .filter((placed) => placed.tag === tag)
          .map(({ id, method, operation }) => ({ href: id, label: textOf(operation, "summary"), method }))
      )
    )
  const rest = group("More", [
    { href: tagAnchor(WEBHOOKS), label: "Webhooks that you are sent" },
    { href: "resources", label: "Resources" },
    { href: "headers", label: "Headers of answers" },
    { href: "problems", label: "Problem codes" }
  ])
  const all = `${group("Introduction", introduction)}${groups.join("")}${rest}`
  return `<nav aria-label="Contents"><details id="contents" open><summary>Contents</summary><label class="filter" hidden>Filter <input type="search" autocomplete="off" spellcheck="false"></label><div class="entries">${all}</div></details></nav>`
}

const tagSection = (document: Node, tag: Node, facts: SampleFacts): string => {
  const name = textOf(tag, "name")
  const inside =
    name === WEBHOOKS
      ? webhookSection(document)
      : operationsOf(document)
          .filter((placed) => placed.tag === name)
          .map((placed) => operationSection(document, placed, facts))
          .join("")
  return `<section class="tag"><h2 id="${tagAnchor(name)}">${escaped(name)}</h2>${prose(textOf(tag, "description"))}${inside}</section>`
}

const sampleNote = ({ apiKey, development }: SampleFacts): string => {
  const folder =
    development !== undefined
      ? " They are for the development server, whose test organization takes <code>http://localhost</code> addresses."
      : ""
  const key =
    apiKey === undefined
      ? "They read your API key from the environment: <code>export SVC_API_KEY=...</code>."
      : "The key of its test organization is filled in; it works on this machine alone."
  return `<p class="note">The samples run as they are in a POSIX shell, bash or zsh with <code>curl</code> and <code>openssl</code>; those that create something keep its identifier or address for those that follow.${folder} ${key}</p>`
}

/** The reference: the whole OpenAPI document as a page (part 9). */
export const referencePage = (document: Node, facts: SampleFacts): string => {
  const info = nodeOf(document, "info")
  const title = textOf(info, "title")
  const basePath = basePathOf(facts.baseUrl)
  const sections = listOf(document, "tags").map((tag) => tagSection(document, tag, facts))
  const resources = resourcesOf(document).map(([name, schema]) => resourceSection(name, schema))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}: reference</title>
<meta name="description" content="${escaped(textOf(info, "summary"))}">
<link rel="icon" href="${basePath}${ICON_ASSET.path}" type="image/svg+xml">
<link rel="stylesheet" href="${basePath}${STYLE_ASSET.path}">
<script src="${basePath}${SCRIPT_ASSET.path}" defer></script>
</head>
<body>
<a class="skip" href="#reference">To the reference</a>
<header><p class="brand"><a href="${basePath}/docs">svc</a> reference</p><p class="facts"><span>Version ${escaped(textOf(info, "version"))}</span> <code>${escaped(facts.baseUrl)}</code> <a href="${basePath}/openapi.json">OpenAPI 3.1</a></p></header>
<div class="page">
${navigation(document)}
<main id="reference">
<section class="introduction"><h1>${escaped(title)}</h1>
${prose(textOf(info, "description"))}
${sampleNote(facts)}</section>
${sections.join("\n")}
<section class="tag"><h2 id="resources">Resources</h2><p>What answers hold. A member that is marked optional is left out where it does not apply, never <code>null</code>.</p>${resources.join("\n")}</section>
<section class="tag"><h2 id="headers">Headers of answers</h2>${headersOf(document)}</section>
<section class="tag"><h2 id="problems">Problem codes</h2><p>When each is answered, and what to do.</p><ul class="members">${apiCodes(
    document
  )
    .map((code) => problemItem(code, basePath))
    .join("")}</ul></section>
</main>
</div>
</body>
</html>
`
}
