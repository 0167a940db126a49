import { assert, describe, it } from "@effect/vitest"
import {
  CancellationBody,
  CommitBody,
  CreateAuthorizationBody,
  ProposedAction,
  RefundBody
} from "@svc/protocol/Authorization"
import type { JournalEventType } from "@svc/protocol/Journal"
import { Policy, PolicyInput, RevokeMandateBody } from "@svc/protocol/Mandate"
import { GENERATED, HOUR, longLife } from "@svc/testkit/EvidenceMaker"
import { Result, Schema } from "effect"
import { eventShape } from "../src/EventShapes.ts"
import { faultOf } from "../src/Shape.ts"

type Members = Record<string, unknown>
interface JournaledEvent {
  readonly seq: number
  readonly type: JournalEventType
  readonly data: Members
}

const life = longLife()
life.tell({ _tag: "Revoke", reason: "The user closed the account." }, GENERATED)
const events: ReadonlyArray<JournaledEvent> = JSON.parse(life.payload(GENERATED + HOUR)).events

/** A journal's data has these members as requests gave them, so shapes and schemas must accept the same values. */
const GIVEN: ReadonlyArray<
  readonly [
    type: JournalEventType,
    member: ReadonlyArray<string>,
    ...schemas: ReadonlyArray<Schema.ConstraintDecoder<unknown>>
  ]
> = [
  ["mandate.created", ["policy"], Policy, PolicyInput],
  ["mandate.revoked", [], RevokeMandateBody],
  ["authorization.reserved", ["proposed_action"], ProposedAction],
  ["authorization.reserved", ["commitment"], CreateAuthorizationBody.fields.commitment],
  ["authorization.reserved", ["external_reference"], CreateAuthorizationBody.fields.external_reference],
  [
    "authorization.reserved",
    ["execution_window_seconds"],
    CreateAuthorizationBody.fields.execution_window_seconds
  ],
  ["authorization.denied", ["proposed_action"], ProposedAction],
  ["authorization.committed", [], CommitBody],
  ["authorization.cancelled", [], CancellationBody],
  ["authorization.refund_reported", [], RefundBody]
]

/** What may stand in place of any value. A timestamp has no trailing zeros here: they are cut before it is stored. */
const REPLACEMENTS: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  1,
  -1,
  1.5,
  29,
  30,
  86_400,
  86_401,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  "",
  "x",
  "EUR",
  "eur",
  "DAY",
  "x".repeat(64),
  "x".repeat(65),
  "x".repeat(255),
  "x".repeat(256),
  "x".repeat(501),
  "\u{1f4b6}".repeat(255),
  "\u{1f4b6}".repeat(256),
  "A".repeat(43),
  "B".repeat(43),
  [],
  ["x"],
  Array.from({ length: 51 }, (_, index) => `value ${index}`),
  {},
  { name: "x" },
  "2026-12-02T10:00:00Z",
  "2026-12-02T10:00:00.1Z",
  "2026-13-02T10:00:00Z",
  "2026-12-02T10:00:00+01:00"
]

const pathsIn = (value: unknown): ReadonlyArray<ReadonlyArray<string>> =>
  typeof value === "object" && value !== null
    ? [[], ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner).map((path) => [name, ...path]))]
    : [[]]

/** A copy in which the value at a path is another; `undefined` takes it away. */
const withAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>, replacement: unknown): unknown => {
  if (name === undefined) return replacement
  const inner = withAt((value as Members)[name], rest, replacement)
  if (Array.isArray(value)) {
    const list = value.map((entry, index) => (String(index) === name ? inner : entry))
    return list.filter((entry) => entry !== undefined)
  }
  const { [name]: _, ...others } = value as Members
  return inner === undefined ? others : { ...others, [name]: inner }
}

const valueAt = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce((inner, name) => (inner as Members)[name], value)

/** The value, and every value that differs from it in one place. */
const variantsOf = (value: unknown): ReadonlyArray<readonly [about: string, variant: unknown]> => [
  ["as it is", value],
  ...pathsIn(value).flatMap((path) => {
    const at = `/${path.join("/")}`
    const inner = valueAt(value, path)
    const more = Array.isArray(inner)
      ? [...inner, "more"]
      : typeof inner === "object" && inner !== null
        ? { ...inner, more: "more" }
        : undefined
    return [
      ...REPLACEMENTS.map((replacement) => [`${at} ${JSON.stringify(replacement)}`, replacement] as const),
      ...(path.length > 0 ? [[`${at} absent`, undefined] as const] : []),
      ...(more === undefined ? [] : [[`${at} with more`, more] as const])
    ].map(([about, replacement]) => [about, withAt(value, path, replacement)] as const)
  })
]

const differences = (
  event: JournaledEvent,
  member: ReadonlyArray<string>,
  schemas: ReadonlyArray<Schema.ConstraintDecoder<unknown>>
): ReadonlyArray<string> => {
  const shape = eventShape(event.type, event.seq === 1)
  return variantsOf(valueAt(event.data, member)).flatMap(([about, variant]) => {
    const fits = faultOf(shape, { ...event, data: withAt(event.data, member, variant) }) === undefined
    const decodes = schemas.every((schema) =>
      Result.isSuccess(Schema.decodeUnknownResult(schema)(variant, { onExcessProperty: "error" }))
    )
    // That a disabled capability must be named is a rule of the program, not of the body's schema.
    const isUnnamed = about.startsWith("/external_credential_reference absent")
    return fits === (decodes && !isUnnamed) ? [] : [`${about.slice(0, 80)}: shape ${fits}, schema ${decodes}`]
  })
}

describe("shapes of events accept what requests may give, and nothing else", () => {
  for (const [type, member, ...schemas] of GIVEN) {
    it([type, ...member].join(" "), () => {
      const event = events.find((one) => one.type === type)
      assert.isDefined(event)
      assert.deepStrictEqual(differences(event!, member, schemas), [])
    })
  }
})
