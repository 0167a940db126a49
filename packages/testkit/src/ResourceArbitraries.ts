import type { CreateAuthorizationBody, ProposedAction } from "@svc/protocol/Authorization"
import { commitmentOf, OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import type { CreateMandateBody, MandateKind, PeriodInput, PolicyInput } from "@svc/protocol/Mandate"
import type { Timestamp } from "@svc/protocol/TimestampSchema"
import * as fc from "fast-check"

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Longest window of a mandate and farthest start, in days: less than ten years, whatever leap days there are. */
const TEN_YEARS_DAYS = 3650

const timestamp = (milliseconds: number): Timestamp => new Date(milliseconds).toISOString() as Timestamp

/** Texts that interfaces get wrong, at most so many characters of them. */
const textsUpTo = (maxLength: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.stringMatching(/^[a-z][a-z0-9_.-]{0,15}$/u) },
    {
      weight: 1,
      arbitrary: fc
        .string({ unit: "binary", minLength: 1, maxLength })
        .filter((text) => text.isWellFormed() && !text.includes("\u0000"))
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("__proto__", "constructor", " ", "\u{1f600}", "é", "e\u0301", "\u202e")
    }
  )

const texts = textsUpTo(255)
const names = textsUpTo(64)

const distinct = (maxLength: number) => fc.uniqueArray(texts, { minLength: 1, maxLength })

const amounts = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(1, Number.MAX_SAFE_INTEGER) }
)

const counts = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, Number.MAX_SAFE_INTEGER))

/** Zones with and without summer time, with half an hour of it, without full hours, and with a day that there was not. */
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "America/Sao_Paulo"
]

const caps: fc.Arbitrary<Pick<PeriodInput, "max_amount" | "max_executions">> = fc.oneof(
  fc.record({ max_amount: amounts }),
  fc.record({ max_executions: counts }),
  fc.record({ max_amount: amounts, max_executions: counts })
)

const frames: fc.Arbitrary<PeriodInput> = fc
  .record({
    unit: fc.constantFrom("DAY", "WEEK", "MONTH", "YEAR"),
    time_zone: fc.constantFrom(...ZONES),
    first_period: fc.constantFrom("FULL", "PRORATED"),
    terms: fc.oneof(
      fc.constant({ alignment: "CALENDAR" } as const),
      fc.record({ alignment: fc.constant("MANDATE" as const), interval: fc.integer({ min: 1, max: 366 }) })
    )
  })
  .map(({ terms, ...rest }) => ({ ...rest, ...terms }))

const periods = fc.uniqueArray(
  fc.tuple(frames, caps).map(([frame, cap]): PeriodInput => ({ ...frame, ...cap })),
  { minLength: 1, maxLength: 3, selector: (period) => JSON.stringify(period) }
)

/**
 * Policies that the API takes: small ones mostly, with bounds and texts at their limits now and then, and periods in several
 * zones.
 *
 * @example
 * ```ts
 * import * as fc from "fast-check"
 * import { policyInputs } from "svc/testkit/properties"
 *
 * fc.assert(fc.property(policyInputs("RECURRING"), (policy) => (policy.periods ?? []).length > 0))
 * ```
 */
export const policyInputs = (kind: MandateKind): fc.Arbitrary<PolicyInput> =>
  fc
    .record(
      {
        currency: fc.constantFrom("EUR", "JPY", "BHD", "USD"),
        bounds: fc.tuple(amounts, amounts),
        hasMinimum: fc.boolean(),
        allowed_actions: distinct(4),
        allowed_merchants: distinct(3),
        attribute_rules: fc.uniqueArray(fc.record({ name: names, in: distinct(3) }), {
          maxLength: 3,
          selector: ({ name }) => name
        }),
        max_total_amount: amounts,
        max_executions: counts,
        periods
      },
      { requiredKeys: ["currency", "bounds", "hasMinimum", "allowed_actions", "periods"] }
    )
    .map(
      ({ bounds, hasMinimum, max_executions, max_total_amount, periods, ...rest }): PolicyInput => ({
        ...rest,
        max_amount: Math.max(...bounds),
        ...(hasMinimum ? { min_amount: Math.min(...bounds) } : {}),
        ...(kind === "SINGLE"
          ? {}
          : {
              periods,
              ...(max_total_amount === undefined ? {} : { max_total_amount }),
              ...(max_executions === undefined ? {} : { max_executions })
            })
      })
    )

/** What mandates are made for: the clock of the service, as RFC 3339. */
export interface ArbitraryOptions {
  /** Default: the time of the host. Windows and deadlines are later. */
  readonly now?: string
}

const nowOf = ({ now }: ArbitraryOptions): number => (now === undefined ? Date.now() : Date.parse(now))

/** Enough for a test to get to the request, whatever the machine does meanwhile. */
const AHEAD = HOUR

/**
 * Bodies of `POST /v1/mandates` that the API takes at `now`, of both kinds.
 *
 * @example
 * ```ts
 * import * as fc from "fast-check"
 * import { testService } from "svc/testkit"
 * import { mandateInputs } from "svc/testkit/properties"
 *
 * const service = await testService({ webhooks: false })
 * const { mandates } = service.forOrganization(service.organization)
 * const property = fc.asyncProperty(mandateInputs({ now: service.clock.now() }), async (input) => {
 *   await mandates.create(input)
 * })
 * await fc.assert(property, { numRuns: 20 })
 * await service.close()
 * ```
 */
export const mandateInputs = (options: ArbitraryOptions = {}): fc.Arbitrary<CreateMandateBody> =>
  fc
    .record({
      kind: fc.constantFrom("SINGLE", "RECURRING"),
      subject_reference: texts,
      description: fc.option(texts, { nil: undefined }),
      startsIn: fc.option(fc.integer({ min: -23 * HOUR, max: 30 * DAY }), { nil: undefined }),
      lasts: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: AHEAD, max: 60 * DAY }) },
        { weight: 1, arbitrary: fc.constant(TEN_YEARS_DAYS * DAY) }
      ),
      waits: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined })
    })
    .chain((drawn) => {
      const kind = drawn.kind as MandateKind
      return policyInputs(kind).map((policy): CreateMandateBody => {
        const now = nowOf(options)
        const start = now + (drawn.startsIn ?? 0)
        const end = Math.min(Math.max(start, now) + drawn.lasts, start + TEN_YEARS_DAYS * DAY)
        const deadline = now + AHEAD / 2 + Math.floor((drawn.waits ?? 0) * (end - now - AHEAD / 2))
        return {
          kind,
          subject_reference: drawn.subject_reference,
          policy,
          window: {
            ...(drawn.startsIn === undefined ? {} : { starts_at: timestamp(start) }),
            ends_at: timestamp(end)
          },
          ...(drawn.waits === undefined ? {} : { approval_deadline: timestamp(deadline) }),
          ...(drawn.description === undefined ? {} : { description: drawn.description })
        }
      })
    })

/** A body that the API refuses with `validation_failed`, and an entry of `errors` that says why. */
export interface InvalidInput {
  /** What is wrong with it, in words. */
  readonly wrong: string
  readonly body: Readonly<Record<string, unknown>>
  readonly pointer: string
  readonly code: string
}

type Json = Readonly<Record<string, unknown>>

/** The body with another value at a place; `undefined` takes the member away. */
const withAt = (value: unknown, at: ReadonlyArray<string>, put: unknown): unknown => {
  const [name, ...rest] = at
  if (name === undefined) return put
  if (Array.isArray(value))
    return value.map((entry, index) => (String(index) === name ? withAt(entry, rest, put) : entry))
  const members = { ...(value as Json), [name]: withAt((value as Json)[name], rest, put) }
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined))
}

interface Wrong {
  readonly wrong: string
  readonly kind?: MandateKind
  readonly at: string
  readonly put: (body: CreateMandateBody, now: number) => unknown
  readonly code?: string
  /** Where the fault is told, if that is elsewhere. */
  readonly pointer?: string
}

const repeated = (length: number) => Array.from({ length }, (_, index) => `entry ${index}`)

/** Every rule about a mandate that a body can break, each with values that do. */
const WRONG: ReadonlyArray<Wrong> = [
  ...[
    "kind",
    "subject_reference",
    "policy",
    "window",
    "policy/currency",
    "policy/max_amount",
    "policy/allowed_actions",
    "window/ends_at"
  ].map((at) => ({ wrong: `${at} is missing`, at, put: () => undefined, code: "required" })),
  {
    wrong: "periods are missing",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => undefined,
    code: "required"
  },
  ...(["periods", "max_total_amount", "max_executions"] as const).map((name) => ({
    wrong: `${name} of a SINGLE mandate`,
    kind: "SINGLE" as const,
    at: `policy/${name}`,
    put: () => (name === "periods" ? [{ unit: "DAY", max_amount: 1 }] : 1),
    code: "not_allowed"
  })),
  { wrong: "a member that there is not", at: "policy/limit", put: () => 1, code: "unknown_member" },
  { wrong: "another kind", at: "kind", put: () => "DOUBLE" },
  { wrong: "a subject that is no text", at: "subject_reference", put: () => 1, code: "invalid_type" },
  { wrong: "an empty subject", at: "subject_reference", put: () => "" },
  { wrong: "a subject of 256 characters", at: "subject_reference", put: () => "s".repeat(256) },
  { wrong: "a subject with U+0000", at: "subject_reference", put: () => "user\u0000" },
  { wrong: "half a character", at: "description", put: () => "\ud800" },
  { wrong: "a currency in lower case", at: "policy/currency", put: () => "eur" },
  { wrong: "a currency that there is not", at: "policy/currency", put: () => "XXX" },
  { wrong: "a metal", at: "policy/currency", put: () => "XAU" },
  { wrong: "an amount of nothing", at: "policy/max_amount", put: () => 0 },
  { wrong: "a fraction of an amount", at: "policy/max_amount", put: () => 1.5 },
  { wrong: "an amount as text", at: "policy/max_amount", put: () => "1", code: "invalid_type" },
  {
    wrong: "a minimum above the maximum",
    at: "policy",
    put: ({ policy }) => ({ ...policy, max_amount: 10, min_amount: 11 }),
    pointer: "/policy/min_amount"
  },
  { wrong: "no action", at: "policy/allowed_actions", put: () => [] },
  { wrong: "51 actions", at: "policy/allowed_actions", put: () => repeated(51) },
  {
    wrong: "an action twice",
    at: "policy/allowed_actions",
    put: () => ["a", "b", "a"],
    pointer: "/policy/allowed_actions/2",
    code: "duplicate"
  },
  { wrong: "no merchant", at: "policy/allowed_merchants", put: () => [] },
  { wrong: "101 merchants", at: "policy/allowed_merchants", put: () => repeated(101) },
  {
    wrong: "a merchant twice",
    at: "policy/allowed_merchants",
    put: () => ["m", "m"],
    pointer: "/policy/allowed_merchants/1",
    code: "duplicate"
  },
  {
    wrong: "21 rules",
    at: "policy/attribute_rules",
    put: () => repeated(21).map((name) => ({ name, in: ["a"] }))
  },
  {
    wrong: "two rules about an attribute",
    at: "policy/attribute_rules",
    put: () => [
      { name: "a", in: ["b"] },
      { name: "a", in: ["c"] }
    ],
    pointer: "/policy/attribute_rules/1/name",
    code: "duplicate"
  },
  {
    wrong: "a rule's value twice",
    at: "policy/attribute_rules",
    put: () => [{ name: "a", in: ["b", "b"] }],
    pointer: "/policy/attribute_rules/0/in/1",
    code: "duplicate"
  },
  {
    wrong: "a rule about an attribute with a name of 65 characters",
    at: "policy/attribute_rules",
    put: () => [{ name: "n".repeat(65), in: ["b"] }],
    pointer: "/policy/attribute_rules/0/name"
  },
  { wrong: "no period", kind: "RECURRING", at: "policy/periods", put: () => [] },
  {
    wrong: "6 periods",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => repeated(6).map((_, index) => ({ unit: "DAY", max_amount: index + 1 }))
  },
  {
    wrong: "a period twice",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => [
      { unit: "DAY", max_amount: 1 },
      { unit: "DAY", max_amount: 1, time_zone: "UTC" }
    ],
    pointer: "/policy/periods/1",
    code: "duplicate"
  },
  {
    wrong: "a period without a cap",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => [{ unit: "DAY" }],
    pointer: "/policy/periods/0",
    code: "required"
  },
  {
    wrong: "two calendar months",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => [{ unit: "MONTH", interval: 2, max_amount: 1 }],
    pointer: "/policy/periods/0/interval"
  },
  {
    wrong: "an interval of 367",
    kind: "RECURRING",
    at: "policy/periods",
    put: () => [{ unit: "DAY", alignment: "MANDATE", interval: 367, max_amount: 1 }],
    pointer: "/policy/periods/0/interval"
  },
  ...["Europe/Atlantis", "europe/berlin", "+02:00"].map((time_zone) => ({
    wrong: `the zone ${time_zone}`,
    kind: "RECURRING" as const,
    at: "policy/periods",
    put: () => [{ unit: "DAY", time_zone, max_amount: 1 }],
    pointer: "/policy/periods/0/time_zone"
  })),
  { wrong: "a day that there is not", at: "window/ends_at", put: () => "2099-02-29T00:00:00Z" },
  { wrong: "a time of another zone", at: "window/ends_at", put: () => "2099-01-01T00:00:00+01:00" },
  {
    wrong: "an end that is over",
    at: "window",
    put: (_, now) => ({ ends_at: timestamp(now - HOUR) }),
    pointer: "/window/ends_at"
  },
  {
    wrong: "an end before the start",
    at: "window",
    put: (_, now) => ({ starts_at: timestamp(now + 2 * DAY), ends_at: timestamp(now + DAY) }),
    pointer: "/window/ends_at"
  },
  {
    wrong: "a window of eleven years",
    at: "window",
    put: (_, now) => ({ ends_at: timestamp(now + 11 * 366 * DAY) }),
    pointer: "/window/ends_at"
  },
  {
    wrong: "a start before yesterday",
    at: "window",
    put: (_, now) => ({ starts_at: timestamp(now - 25 * HOUR), ends_at: timestamp(now + DAY) }),
    pointer: "/window/starts_at"
  },
  {
    wrong: "a start in eleven years",
    at: "window",
    put: (_, now) => ({
      starts_at: timestamp(now + 11 * 366 * DAY),
      ends_at: timestamp(now + 12 * 366 * DAY)
    }),
    pointer: "/window/starts_at"
  },
  { wrong: "a deadline that is over", at: "approval_deadline", put: (_, now) => timestamp(now - MINUTE) },
  {
    wrong: "a deadline after the end",
    at: "approval_deadline",
    put: ({ window }) => timestamp(Date.parse(window.ends_at) + SECOND)
  }
]

/** What can be wrong with the body of a mandate, in words: all that `invalidMandateInputs` draws from. */
export const mandateFaults: ReadonlyArray<string> = WRONG.map(({ wrong }) => wrong)

/**
 * Bodies of `POST /v1/mandates` that are right but for one thing, which the API refuses with `validation_failed`. There is one
 * for each rule about the body.
 *
 * @example
 * ```ts
 * import * as fc from "fast-check"
 * import { invalidMandateInputs } from "svc/testkit/properties"
 *
 * for (const { body, code, pointer, wrong } of fc.sample(invalidMandateInputs(), 3)) console.log(wrong, body, pointer, code)
 * ```
 */
export const invalidMandateInputs = (options: ArbitraryOptions = {}): fc.Arbitrary<InvalidInput> =>
  fc.constantFrom(...WRONG).chain(({ at, code = "invalid_value", kind, pointer, put, wrong }) =>
    mandateInputs(options)
      .filter((body) => kind === undefined || body.kind === kind)
      .map((body) => ({
        wrong,
        body: withAt(body, at.split("/"), put(body, nowOf(options))) as Json,
        pointer: pointer ?? `/${at}`,
        code
      }))
  )

const mostly = <A>(right: fc.Arbitrary<A>, wrong: fc.Arbitrary<A>): fc.Arbitrary<A> =>
  fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: wrong })

/**
 * Actions to propose under a policy: within it mostly, and at, just within or just outside of one of its bounds now and then,
 * so that each reason is seen.
 */
export const proposedActions = (policy: PolicyInput): fc.Arbitrary<ProposedAction> => {
  const least = policy.min_amount ?? 1
  const bounds = [least - 1, least, policy.max_amount, policy.max_amount + 1]
  const near = bounds.filter((amount) => amount >= 1 && amount <= Number.MAX_SAFE_INTEGER)
  const rules = [
    ...(policy.attribute_rules ?? []),
    ...(policy.allowed_merchants === undefined ? [] : [{ name: "merchant", in: policy.allowed_merchants }])
  ]
  const values = rules.map(({ in: allowed, name }) =>
    mostly(
      fc.constantFrom(...allowed).map((value): ReadonlyArray<readonly [string, string]> => [[name, value]]),
      fc.constantFrom([], [[name, "something else"] as const])
    )
  )
  return fc
    .record({
      action: mostly(fc.constantFrom(...policy.allowed_actions), texts),
      amount: mostly(fc.integer({ min: least, max: policy.max_amount }), fc.constantFrom(...near)),
      currency: mostly(fc.constant(policy.currency), fc.constantFrom("CHF", "XXX")),
      attributes: fc.tuple(...values)
    })
    .map(({ action, amount, attributes, currency }) => ({
      action,
      ...(rules.length === 0 ? {} : { attributes: Object.fromEntries(attributes.flat()) }),
      payment: { amount, currency }
    }))
}

/** Bodies of a proposal under a policy, with the opening of its commitment, which a commit reveals. */
export const proposalInputs = (
  policy: PolicyInput
): fc.Arbitrary<{ readonly body: CreateAuthorizationBody; readonly opening: Uint8Array }> =>
  fc
    .record({
      proposed_action: proposedActions(policy),
      external_reference: texts,
      execution_window_seconds: fc.oneof(fc.integer({ min: 30, max: 86_400 }), fc.constantFrom(30, 86_400)),
      opening: fc.noShrink(fc.uint8Array({ minLength: OPENING_BYTES, maxLength: OPENING_BYTES }))
    })
    .map(({ opening, ...body }) => ({
      body: { ...body, commitment: commitmentOf(opening) as CreateAuthorizationBody["commitment"] },
      opening
    }))

/** What a caller does with a mandate; authorizations by their number, from 0. */
export type CallerStep =
  | { readonly kind: "propose"; readonly action: ProposedAction }
  | { readonly kind: "commit" | "cancel"; readonly authorization: number }
  | { readonly kind: "refund"; readonly authorization: number; readonly amount: number }
  | { readonly kind: "revoke" }
  | { readonly kind: "wait"; readonly seconds: number }

/**
 * What a caller does with a mandate of a policy, step by step, as data: for a program of your own to carry out. Reports name
 * authorizations that were proposed before.
 */
export const callerSteps = (
  policy: PolicyInput,
  { maxSteps = 30 }: { readonly maxSteps?: number } = {}
): fc.Arbitrary<ReadonlyArray<CallerStep>> => {
  const propose = proposedActions(policy).map((action): CallerStep => ({ kind: "propose", action }))
  const authorization = fc.nat({ max: maxSteps })
  const step = fc.oneof(
    { weight: 5, arbitrary: propose },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom("commit" as const, "cancel" as const), authorization })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("refund" as const),
        authorization,
        amount: fc.integer({ min: 1, max: policy.max_amount })
      })
    },
    { weight: 1, arbitrary: fc.constant({ kind: "revoke" } as const) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("wait" as const),
        seconds: fc.constantFrom(1, 60, 3600, 86_400, 31 * 86_400)
      })
    }
  )
  return fc.tuple(propose, fc.array(step, { maxLength: maxSteps - 1 })).map(([first, rest]) => {
    let proposed = 0
    return [first, ...rest].map((drawn: CallerStep): CallerStep => {
      if (drawn.kind === "propose") proposed += 1
      return "authorization" in drawn ? { ...drawn, authorization: drawn.authorization % proposed } : drawn
    })
  })
}

/** A time that calendars get wrong. */
export interface ClockTime {
  /** RFC 3339 in UTC, for a clock. */
  readonly now: string
  /** The zone in which it is special. */
  readonly time_zone: string
  /** Why, in words. */
  readonly about: string
}

/** The Sunday of a month, counted from its beginning or, below 0, from its end, at midnight in UTC. */
const sunday = (year: number, month: number, which: number): number => {
  const days = Array.from({ length: 31 }, (_, day) => Date.UTC(year, month - 1, day + 1)).filter((at) => {
    const date = new Date(at)
    return date.getUTCMonth() === month - 1 && date.getUTCDay() === 0
  })
  return days.at(which) ?? 0
}

const SUMMER_TIMES: ReadonlyArray<
  readonly [zone: string, begin: (year: number) => number, end: (year: number) => number]
> = [
  ["Europe/Berlin", (year) => sunday(year, 3, -1) + HOUR, (year) => sunday(year, 10, -1) + HOUR],
  ["America/New_York", (year) => sunday(year, 3, 1) + 7 * HOUR, (year) => sunday(year, 11, 0) + 6 * HOUR],
  ["Australia/Lord_Howe", (year) => sunday(year, 10, 0) - 8.5 * HOUR, (year) => sunday(year, 4, 0) - 9 * HOUR]
]

const BESIDE = [-DAY, -HOUR, -SECOND, -1, 0, 1, SECOND, HOUR, DAY]

const specialTimes = (year: number): ReadonlyArray<readonly [at: number, zone: string, about: string]> => [
  ...SUMMER_TIMES.flatMap(([zone, begin, end]) => [
    [begin(year), zone, "summer time begins"] as const,
    [end(year), zone, "summer time ends"] as const
  ]),
  ...Array.from({ length: 12 }, (_, month) => [Date.UTC(year, month + 1, 1), "UTC", "a month ends"] as const),
  [Date.UTC(year, 1, 29), "UTC", "the day after 28 February"] as const
]

/**
 * Times at, before and after the instants that calendars get wrong: changes of summer time, ends of months and years, and leap
 * days, from 2026 to 2035.
 *
 * @example
 * ```ts
 * import * as fc from "fast-check"
 * import { testService } from "svc/testkit"
 * import { clockTimes } from "svc/testkit/properties"
 *
 * for (const { now } of fc.sample(clockTimes, 2)) await (await testService({ now, webhooks: false })).close()
 * ```
 */
export const clockTimes: fc.Arbitrary<ClockTime> = fc
  .integer({ min: 2026, max: 2035 })
  .chain((year) => fc.tuple(fc.constantFrom(...specialTimes(year)), fc.constantFrom(...BESIDE)))
  .map(([[at, time_zone, about], beside]) => ({ now: timestamp(at + beside), time_zone, about }))
