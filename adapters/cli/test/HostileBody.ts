import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { isJsonObject, type JsonValue } from "@svc/protocol/json/Json"
import * as fc from "fast-check"

/** A body as text in parts, which can hold what no JSON value can: repeated members, numbers out of bounds. */
type Node =
  | { _tag: "text"; text: string }
  | { _tag: "object"; members: Array<{ name: string; value: Node }> }
  | { _tag: "array"; items: Array<Node> }

const nodeOf = (value: JsonValue): Node => {
  if (Array.isArray(value)) return { _tag: "array", items: value.map(nodeOf) }
  if (!isJsonObject(value)) return { _tag: "text", text: JSON.stringify(value) }
  const members = Object.entries(value).map(([name, member]) => ({
    name: JSON.stringify(name),
    value: nodeOf(member)
  }))
  return { _tag: "object", members }
}

const printNode = (node: Node): string => {
  if (node._tag === "text") return node.text
  if (node._tag === "array") return `[${node.items.map(printNode).join(",")}]`
  return `{${node.members.map(({ name, value }) => `${name}:${printNode(value)}`).join(",")}}`
}

/** Where a node is: how to put another there, how to take it away, how to have it twice. */
interface Place {
  readonly node: Node
  readonly replace: (node: Node) => void
  readonly remove: () => void
  readonly repeat: () => void
}

const placesBelow = (node: Node): ReadonlyArray<Place> => {
  if (node._tag === "array") {
    const { items } = node
    return items.flatMap((item, index) => [
      {
        node: item,
        replace: (other: Node) => void items.splice(index, 1, other),
        remove: () => void items.splice(index, 1),
        repeat: () => void items.push(item)
      },
      ...placesBelow(item)
    ])
  }
  if (node._tag === "text") return []
  const { members } = node
  return members.flatMap((member, index) => [
    {
      node: member.value,
      replace: (value: Node) => void members.splice(index, 1, { ...member, value }),
      remove: () => void members.splice(index, 1),
      repeat: () => void members.push(member)
    },
    ...placesBelow(member.value)
  ])
}

/** Depth just allowed, just not allowed, and far beyond any stack. */
const DEPTHS = [31, 33, 5000]

const VALUES = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1.5",
  "100.0",
  "1e2",
  "1e400",
  "-1e400",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "1e16",
  "NaN",
  "0x10",
  "01",
  '"100"',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00x"',
  '"\t"',
  '"\\u202e"',
  '"<script>"',
  '"__proto__"',
  '"2026-02-30T00:00:00Z"',
  '"2026-12-31T23:59:60Z"',
  '"2026-12-01T00:00:00+02:00"',
  '"0000-01-01T00:00:00Z"',
  "'x'",
  "[]",
  "{}",
  "[null]",
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  JSON.stringify("a".repeat(255)),
  JSON.stringify("a".repeat(256)),
  JSON.stringify("\u{1f600}".repeat(255)),
  JSON.stringify("\u{1f600}".repeat(256)),
  JSON.stringify("x".repeat(20_000)),
  JSON.stringify(Array.from({ length: 5000 }, () => 1)),
  JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`m${index}`, null]))),
  ...DEPTHS.map((depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`),
  ...DEPTHS.map((depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)
]

const NAMES = [
  '"__proto__"',
  '"constructor"',
  '"hasOwnProperty"',
  '"toString"',
  '"state"',
  '"can_execute"',
  '"organization_id"',
  '""',
  '"a/b~c"',
  '"\\ud800"',
  '"\\u0000"',
  '"\u00e9\\uFB33"',
  JSON.stringify("n".repeat(300))
]

export interface MemberChange {
  readonly at: number
  readonly how: "replace" | "remove" | "add" | "repeat"
  readonly name: string
  readonly value: string
}

const apply = (root: Node, change: MemberChange): Node => {
  const value: Node = { _tag: "text", text: change.value }
  const places = placesBelow(root)
  const place = places[change.at % Math.max(1, places.length)]
  if (change.how === "add") {
    const objects = [root, ...places.map(({ node }) => node)].filter((node) => node._tag === "object")
    const object = objects[change.at % Math.max(1, objects.length)]
    object?.members.push({ name: change.name, value })
    return root
  }
  if (place === undefined) return change.how === "replace" ? value : root
  if (change.how === "replace") place.replace(value)
  else place[change.how]()
  return root
}

/** A body's bytes, and the header lines that say what they are. */
interface Rendered {
  readonly bytes: Buffer
  readonly lines?: ReadonlyArray<string>
}

const MAX_BODY_BYTES = 65_536

const BOMB = gzipSync(Buffer.alloc(10_000_000))

/** What happens to the text of a body on its way to bytes. */
const FORMS = {
  plain: (text) => ({ bytes: Buffer.from(text) }),
  spaced: (text) => ({ bytes: Buffer.from(`\r\n\t ${text} \n`) }),
  full: (text) => ({ bytes: Buffer.from(text.padEnd(MAX_BODY_BYTES)) }),
  tooLarge: (text) => ({ bytes: Buffer.from(text.padEnd(MAX_BODY_BYTES + 1)) }),
  farTooLarge: (text) => ({ bytes: Buffer.from(text.padEnd(4 * MAX_BODY_BYTES)) }),
  byteOrderMark: (text) => ({ bytes: Buffer.from(`\ufeff${text}`) }),
  utf16: (text) => ({ bytes: Buffer.from(text, "utf16le") }),
  latin1: (text) => ({ bytes: Buffer.from(text.replace('"', '"\u00e9'), "latin1") }),
  overlong: (text) => ({ bytes: Buffer.from(text.replace('"', '"\u00c0\u00af'), "latin1") }),
  cesu8: (text) => ({ bytes: Buffer.from(text.replace('"', '"\u00ed\u00a0\u0080'), "latin1") }),
  nul: (text) => ({ bytes: Buffer.from(`${text}\u0000`) }),
  cutOff: (text) => ({ bytes: Buffer.from(text.slice(0, Math.ceil(text.length / 2))) }),
  twice: (text) => ({ bytes: Buffer.from(`${text}${text}`) }),
  trailingComma: (text) => ({ bytes: Buffer.from(text.replace(/\}$/u, ",}")) }),
  comment: (text) => ({ bytes: Buffer.from(`/* */${text}`) }),
  singleQuotes: (text) => ({ bytes: Buffer.from(text.replaceAll('"', "'")) }),
  inArray: (text) => ({ bytes: Buffer.from(`[${text}]`) }),
  inString: (text) => ({ bytes: Buffer.from(JSON.stringify(text)) }),
  form: () => ({ bytes: Buffer.from("kind=SINGLE&subject_reference=u") }),
  number: () => ({ bytes: Buffer.from("1") }),
  null: () => ({ bytes: Buffer.from("null") }),
  blank: () => ({ bytes: Buffer.from("  ") }),
  empty: () => ({ bytes: Buffer.alloc(0) }),
  gzip: (text) => ({ bytes: gzipSync(text), lines: ["Content-Encoding: gzip"] }),
  gzipBomb: () => ({ bytes: BOMB, lines: ["Content-Encoding: gzip"] }),
  gzipUnsaid: (text) => ({ bytes: gzipSync(text) }),
  deflate: (text) => ({ bytes: deflateSync(text), lines: ["Content-Encoding: deflate"] }),
  brotli: (text) => ({ bytes: brotliCompressSync(text), lines: ["Content-Encoding: br"] }),
  identity: (text) => ({ bytes: Buffer.from(text), lines: ["Content-Encoding: identity"] }),
  unknownEncoding: (text) => ({ bytes: Buffer.from(text), lines: ["Content-Encoding: rot13"] })
} satisfies Readonly<Record<string, (text: string) => Rendered>>

export type BodyForm = keyof typeof FORMS

/** How a body differs from one that the route takes. */
export interface HostileBody {
  readonly changes: ReadonlyArray<MemberChange>
  readonly form: BodyForm
}

const forms = Object.keys(FORMS) as ReadonlyArray<BodyForm>

const memberChange: fc.Arbitrary<MemberChange> = fc.record({
  at: fc.nat(60),
  how: fc.constantFrom("replace", "replace", "remove", "add", "repeat"),
  name: fc.constantFrom(...NAMES),
  value: fc.constantFrom(...VALUES)
})

export const hostileBody: fc.Arbitrary<HostileBody> = fc.record({
  changes: fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(memberChange, { minLength: 1, maxLength: 3 }) }
  ),
  form: fc.oneof(
    { weight: 6, arbitrary: fc.constant("plain" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...forms) }
  )
})

/** The bytes of a body that began as a valid one. */
export const renderBody = (valid: JsonValue, hostile: HostileBody): Rendered => {
  let root = nodeOf(valid)
  for (const change of hostile.changes) root = apply(root, change)
  return FORMS[hostile.form](printNode(root))
}
