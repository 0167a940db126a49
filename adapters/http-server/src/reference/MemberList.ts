import { isNode, listOf, type Node, nodeOf, nodesOf, refOf, textOf } from "./DocumentNode.ts"
import { escaped, inlineProse, prose } from "./Markdown.ts"

const plural = (count: unknown, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const ENTRIES: Readonly<Record<string, readonly [minimum: string, maximum: string, noun: string]>> = {
  string: ["minLength", "maxLength", "character"],
  array: ["minItems", "maxItems", "entry"],
  object: ["minProperties", "maxProperties", "member"]
}

const sizeOf = (schema: Node): string => {
  const [minimum, maximum, noun] = ENTRIES[textOf(schema, "type")] ?? ["minimum", "maximum", ""]
  const least = schema[minimum] ?? 0
  const most = schema[maximum]
  if (most === undefined) return ""
  if (noun === "") return `${schema[minimum]} to ${most}`
  const many = noun === "entry" ? `${most} entries` : plural(most, noun)
  return least === 0 ? `at most ${many}` : `${least} to ${many}`
}

const link = (name: string): string => `<a href="#${name}">${name}</a>`

const typeOf = (schema: Node): string => {
  const ref = refOf(schema)
  if (ref !== undefined) return link(ref)
  if (schema.type === "array") return `list of ${typeOf(nodeOf(schema, "items"))}`
  const options = listOf(schema, "anyOf")
  if (options.length > 0) return options.map(typeOf).join(" or ")
  if (schema.format === "date-time") return "timestamp"
  return escaped(textOf(schema, "type") || "any JSON")
}

const valuesOf = (schema: Node): ReadonlyArray<unknown> => {
  if (Array.isArray(schema.enum)) return schema.enum
  if (schema.type === "array") return valuesOf(nodeOf(schema, "items"))
  return listOf(schema, "anyOf").flatMap(valuesOf)
}

const isPlainPattern = (schema: Node): boolean => schema.pattern !== undefined && schema.format === undefined

/** The constraints of a value besides its type. */
const boundsOf = (schema: Node): string => {
  const parts = [
    sizeOf(schema),
    ...(schema.uniqueItems === true ? ["no entry twice"] : []),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`])
  ].filter((part) => part !== "")
  const pattern = isPlainPattern(schema)
    ? `<code class="pattern">${escaped(textOf(schema, "pattern"))}</code>`
    : ""
  const text = parts.map((part) => `<span>${escaped(part)}</span>`).join("")
  return text + pattern
}

const exampleOf = (schema: Node): string => {
  const [example] = Array.isArray(schema.examples) ? (schema.examples as ReadonlyArray<unknown>) : []
  if (example === undefined || isNode(example) || valuesOf(schema).length > 0) return ""
  return `<p class="example">Example: <code>${escaped(JSON.stringify(example))}</code></p>`
}

const enumOf = (schema: Node): string => {
  const values = valuesOf(schema)
  if (values.length < 2) return ""
  return `<p class="values">${values.map((value) => `<code>${escaped(String(value))}</code>`).join(" ")}</p>`
}

/** A description with one or several paragraphs. */
const descriptionOf = (text: string): string => {
  if (text === "") return ""
  return text.includes("\n") ? `<div class="words">${prose(text)}</div>` : `<p>${inlineProse(text)}</p>`
}

/** One member, parameter or header. */
interface Entry {
  /** The anchor. */
  readonly id: string
  readonly name: string
  /** `undefined` shows neither badge. */
  readonly isRequired: boolean | undefined
  readonly schema: Node
  readonly description: string
  readonly inside: string
}

const badge = (isRequired: boolean | undefined): string => {
  if (isRequired === undefined) return ""
  return isRequired ? '<span class="required">required</span>' : '<span class="optional">optional</span>'
}

const entry = ({ description, id, inside, isRequired, name, schema }: Entry): string =>
  `<li id="${escaped(id)}"><div class="member"><a class="anchor" href="#${escaped(id)}"><code class="name">${escaped(name)}</code></a><span class="type">${typeOf(schema)}</span>${badge(isRequired)}<span class="bounds">${boundsOf(schema)}</span></div>${descriptionOf(description)}${enumOf(schema)}${exampleOf(schema)}${inside}</li>`

/** The members of an object, or of the entries of a list. */
const nestedMembers = (schema: Node, path: string, isRequest: boolean): string => {
  const inner = schema.type === "array" ? nodeOf(schema, "items") : schema
  return inner.properties === undefined
    ? ""
    : `<details><summary>Members of <code>${escaped(path.split(".").at(-1)!)}</code></summary>${memberList(inner, path, isRequest)}</details>`
}

/** The members of an object, each with an anchor under `path`. */
export const memberList = (schema: Node, path: string, isRequest: boolean): string => {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const entries = nodesOf(nodeOf(schema, "properties")).map(([name, member]) =>
    entry({
      id: `${path}.${name}`,
      name,
      // Members of responses are present unless marked optional.
      isRequired: isRequest ? required.has(name) : required.has(name) ? undefined : false,
      schema: member,
      description: textOf(member, "description"),
      inside: nestedMembers(member, `${path}.${name}`, isRequest)
    })
  )
  return `<ul class="members">${entries.join("")}</ul>`
}

/** The parameters of an operation that are in the path, the query or the headers. */
export const parameterList = (parameters: ReadonlyArray<Node>, path: string): string => {
  const entries = parameters.map((parameter) =>
    entry({
      id: `${path}.${textOf(parameter, "name")}`,
      name: textOf(parameter, "name"),
      isRequired: parameter.required === true,
      schema: nodeOf(parameter, "schema"),
      description: textOf(parameter, "description"),
      inside: ""
    })
  )
  return `<ul class="members">${entries.join("")}</ul>`
}

/** The response headers. */
export const headerList = (headers: ReadonlyArray<readonly [name: string, header: Node]>): string => {
  const entries = headers.map(([name, header]) =>
    entry({
      id: `header.${name}`,
      name,
      isRequired: undefined,
      schema: nodeOf(header, "schema"),
      description: textOf(header, "description"),
      inside: ""
    })
  )
  return `<ul class="members">${entries.join("")}</ul>`
}
