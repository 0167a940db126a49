import { isNode, listOf, type Node, nodeOf, nodesOf, refOf, textOf } from "./DocumentNode.ts"
import { codeBlock, escaped, inlineProse, pathCode, prose, slugOf } from "./Markdown.ts"
import { memberList, parameterList } from "./MemberList.ts"
import { type SampleFacts, sampleNoteOf, sampleOf } from "./Samples.ts"

/** An operation and its place in the document. */
export interface PlacedOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly operation: Node
}

const METHODS = new Set(["get", "post", "put", "delete"])

/** Every operation, in the order of the document. */
export const operationsOf = (document: Node): ReadonlyArray<PlacedOperation> =>
  nodesOf(nodeOf(document, "paths")).flatMap(([path, item]) =>
    nodesOf(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({
        id: textOf(operation, "operationId"),
        method,
        path,
        tag: tagOf(operation),
        operation
      }))
  )

const tagOf = ({ tags }: Node): string => (Array.isArray(tags) ? String(tags[0]) : "")

const resolve = (document: Node, node: Node): Node => {
  const ref = node.$ref
  if (typeof ref !== "string") return node
  return ref
    .slice(2)
    .split("/")
    .reduce((found, name) => nodeOf(found, name), document)
}

const scopeOf = (operation: Node): string | undefined => {
  const [requirement] = listOf(operation, "security")
  const scopes = requirement?.api_key
  return Array.isArray(scopes) ? String(scopes[0]) : undefined
}

const mediaSchema = (answer: Node): Node => {
  const [media] = nodesOf(nodeOf(answer, "content"))
  return media === undefined ? {} : nodeOf(media[1], "schema")
}

const headerNames = (answer: Node): string =>
  Object.keys(nodeOf(answer, "headers"))
    .map((name) => `<a href="#header.${name}"><code>${name}</code></a>`)
    .join(", ")

const successOf = (document: Node, id: string, [status, given]: readonly [string, Node]): string => {
  const answer = resolve(document, given)
  const schema = mediaSchema(answer)
  const ref = refOf(schema)
  const component = ref === undefined ? {} : nodeOf(nodeOf(nodeOf(document, "components"), "schemas"), ref)
  const isPage = nodeOf(component, "properties").data !== undefined
  const what = ref === undefined || isPage ? "" : ` <a href="#${ref}">${ref}</a>`
  const members = isPage
    ? `<details><summary>Members of the answer</summary>${memberList(component, `${id}.${status}`, false)}</details>`
    : ""
  return `<li><strong class="status">${status}</strong>${what} ${inlineProse(textOf(answer, "description"))}${members}<p class="headers">Headers: ${headerNames(answer)}</p></li>`
}

const codesOf = (answer: Node): ReadonlyArray<string> =>
  nodesOf(nodeOf(answer, "content")).flatMap(([, media]) =>
    nodesOf(nodeOf(media, "examples")).map(([, example]) => {
      const ref = refOf(example) ?? ""
      return ref.replaceAll(/(?!^)([A-Z])/gu, "_$1").toLowerCase()
    })
  )

const problemOf = (document: Node, [status, given]: readonly [string, Node]): string => {
  const codes = codesOf(resolve(document, given)).map(
    (code) => `<a href="#problem.${code}"><code>${code}</code></a>`
  )
  return `<li><strong class="status">${status}</strong> ${codes.join(", ")}</li>`
}

const answersOf = (document: Node, { id, operation }: PlacedOperation): string => {
  const all = nodesOf(nodeOf(operation, "responses"))
  const [successes, problems] = [true, false].map((isSuccess) =>
    all.filter(([status]) => Number(status) < 400 === isSuccess)
  )
  return `<h4>Answers</h4><ul class="answers">${successes!.map((one) => successOf(document, id, one)).join("")}</ul><details><summary>Problems (${problems!.length} statuses)</summary><ul class="answers">${problems!.map((one) => problemOf(document, one)).join("")}</ul></details>`
}

const requestOf = (document: Node, { id, operation }: PlacedOperation): string => {
  const media = nodeOf(nodeOf(nodeOf(operation, "requestBody"), "content"), "application/json")
  const schema = resolve(document, nodeOf(media, "schema"))
  return schema.properties === undefined ? "" : `<h4>Body</h4>${memberList(schema, id, true)}`
}

const parametersOf = ({ id, operation }: PlacedOperation): string => {
  const all = listOf(operation, "parameters")
  const groups = [
    ["path", "Path"],
    ["query", "Query"],
    ["header", "Headers"]
  ] as const
  return groups
    .map(([place, title]) => {
      const of = all.filter((parameter) => parameter.in === place)
      return of.length === 0 ? "" : `<h4>${title}</h4>${parameterList(of, id)}`
    })
    .join("")
}

const noteOf = (id: string, facts: SampleFacts): string => {
  const note = sampleNoteOf(id, facts)
  return note === undefined ? "" : prose(note)
}

const sampled = ({ id, method, operation, path }: PlacedOperation, facts: SampleFacts): string =>
  sampleOf(
    {
      operationId: id,
      method,
      path,
      needsApiKey: scopeOf(operation) !== undefined,
      takesIdempotencyKey: listOf(operation, "parameters").some(({ name }) => name === "Idempotency-Key")
    },
    facts
  )

/** The section of an operation: description, parameters, responses, and a sample that can be run. */
export const operationSection = (document: Node, placed: PlacedOperation, facts: SampleFacts): string => {
  const { id, method, operation, path } = placed
  const scope = scopeOf(operation)
  const summary = textOf(operation, "summary")
  return `<section class="operation" id="${id}"><div class="text">
<h3><a class="anchor" href="#${id}">${escaped(summary)}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> ${pathCode(path)}</p>
${prose(textOf(operation, "description"))}
<p class="scope">${scope === undefined ? "Needs no API key." : `Needs an API key with the scope <code>${scope}</code>.`}</p>
${parametersOf(placed)}${requestOf(document, placed)}${answersOf(document, placed)}
</div><div class="sample">${noteOf(id, facts)}${codeBlock(sampled(placed, facts), "sh", `Sample: ${summary}`)}</div></section>`
}

const webhookOf = ([type, item]: readonly [string, Node]): string => {
  const post = nodeOf(item, "post")
  return `<li id="${textOf(post, "operationId")}"><code>${type}</code> ${inlineProse(textOf(post, "summary"))}</li>`
}

/** The section on what is sent to webhook endpoints. */
export const webhookSection = (document: Node): string => {
  const webhooks = nodesOf(nodeOf(document, "webhooks"))
  const first = webhooks.find(([type]) => type === "mandate.approved")?.[1] ?? {}
  const post = nodeOf(first, "post")
  const media = nodeOf(nodeOf(nodeOf(post, "requestBody"), "content"), "application/json")
  const body = resolve(document, nodeOf(media, "schema"))
  const example = isNode(media.example) ? JSON.stringify(media.example, null, 2) : ""
  return `<section class="operation"><div class="text">${prose(textOf(post, "description"))}
<p>How to verify the signature is <a href="#webhooks">in the introduction</a>.</p>
<h3>Events</h3><ul class="events">${webhooks.map(webhookOf).join("")}</ul>
<h3>Headers of a webhook</h3>${parameterList(listOf(post, "parameters"), "webhook")}
<h3 id="WebhookEvent">Body of a webhook</h3>${memberList(body, "WebhookEvent", false)}</div>
<div class="sample">${codeBlock(example, "json", "Body of a webhook")}</div></section>`
}

/** The section of a resource. */
export const resourceSection = (name: string, schema: Node): string =>
  `<section class="resource" id="${name}"><h3><a class="anchor" href="#${name}">${name}</a></h3>${prose(textOf(schema, "description"))}${memberList(schema, name, false)}</section>`

/** The anchor of a tag. */
export const tagAnchor = (tag: string): string => `tag-${slugOf(tag)}`
