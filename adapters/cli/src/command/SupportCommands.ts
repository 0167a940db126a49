import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Randomness } from "@svc/domain/ports/Randomness"
import { listAuthorizations, readAuthorization } from "@svc/domain/programs/Authorizations"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { listEvents, listMandates, readMandate } from "@svc/domain/programs/Mandates"
import { type DomainRefusal, problemOfRefusal } from "@svc/domain/programs/RefusalProblem"
import { listWebhookDeliveries } from "@svc/domain/programs/WebhookDeliveries"
import { listWebhookEndpoints } from "@svc/domain/programs/WebhookEndpoints"
import { AuthorizationStateName } from "@svc/protocol/Authorization"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { MandateStateName } from "@svc/protocol/Mandate"
import { PROBLEMS } from "@svc/protocol/Problem"
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, type ListPage } from "@svc/protocol/request/ListPage"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, usageFault, validateAll } from "../start/StartFault.ts"
import { limitOption, oneOf, readOptions, requiredOption } from "./CommandOptions.ts"
import { type Column, listTable } from "./ListTable.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/* Commands that look into the data of an organization, for whoever answers its questions. */

/** What a look-up was asked for. Absent members were not given. */
interface Asked {
  readonly organization: string
  /** The value of the option that names what is looked at; empty where there is none. */
  readonly named: string
  readonly limit: number
  readonly cursor?: string
  readonly subjectReference?: string
}

type Read<A> = Effect.Effect<A, DomainRefusal, PostgresPorts | Randomness>

interface LookUp<State extends string> {
  readonly name: string
  /** What it prints, for its help. */
  readonly prints: string
  /** The option that names what is looked at beside the organization. */
  readonly of?: "mandate" | "authorization" | "endpoint"
  /** States that the list can be restricted to. */
  readonly states?: ReadonlyArray<State>
  /** Whether mandates can be restricted to those of one end user. */
  readonly isOfSubject?: boolean
  /** `page`: a list with cursors. `count`: only how much of it. */
  readonly size?: "page" | "count"
  /** Columns of its table on a terminal; absent: it is JSON there too. */
  readonly columns?: ReadonlyArray<Column>
  readonly read: (asked: Asked & { readonly state?: State }) => Read<object>
}

/** A program's refusal as the fault of the command; that the store is unavailable remains. */
export const faultOfRefusal = (refusal: DomainRefusal): StartFault | StoreUnavailable => {
  if (refusal._tag === "StoreUnavailable") return refusal
  if (refusal._tag === "NotFound") return usageFault("the organization has nothing of that identifier")
  const { code, detail, errors = [] } = problemOfRefusal(refusal)
  return usageFault([detail ?? PROBLEMS[code].cause, ...errors.map((fault) => fault.detail)].join(" "))
}

/** The options of a look-up by name, each with its line of the help. */
const optionsOf = <State extends string>({ isOfSubject, of, size, states }: LookUp<State>) =>
  new Map([
    ["organization", "  --organization <id>   whose data it is; required"],
    ...(of === undefined ? [] : [[of, `${`  --${of} <id>`.padEnd(24)}required`] as const]),
    ...(states === undefined ? [] : [["state", `  --state <state>       ${states.join(", ")}`] as const]),
    ...(isOfSubject === true
      ? [["subject", "  --subject <text>      those of one end user, by its subject_reference"] as const]
      : []),
    ...(size === undefined
      ? []
      : [
          ["limit", `  --limit <1-${LIST_LIMIT_MAX}>       how many; default ${LIST_LIMIT_DEFAULT}`] as const
        ]),
    ...(size === "page"
      ? [["cursor", "  --cursor <text>       next_cursor of the page before"] as const]
      : [])
  ])

const TABLE_HELP = " A table on a terminal, else JSON; --json prints JSON there too."

/** Columns of lists of events. */
const EVENT_COLUMNS: ReadonlyArray<Column> = [
  ["OCCURRED", "occurred_at"],
  ["TYPE", "type"],
  ["AUTHORIZATION", "authorization_id"],
  ["EVENT", "id"]
]

/** The command that prints what a look-up reads. */
const commandOf = <State extends string>(lookUp: LookUp<State>): StoreCommand => {
  const { columns, name, of, prints, read, states } = lookUp
  const lines = optionsOf(lookUp)
  const kinds = Object.fromEntries([...lines.keys()].map((option) => [option, "one" as const]))
  return {
    name,
    help: helpOf(
      `svc ${name}: prints ${prints}.${columns === undefined ? "" : TABLE_HELP}\n\n${[...lines.values()].join("\n")}`,
      SETTINGS_OF.store
    ),
    ...(columns === undefined ? {} : { terminalTextOf: listTable(columns) }),
    plan: Effect.fnUntraced(function* (words) {
      const {
        cursor,
        organization: id,
        state: givenState,
        subject,
        ...options
      } = yield* readOptions(kinds, words)
      const { limit, named, organization, state } = yield* validateAll({
        organization: requiredOption(id, "organization"),
        named: of === undefined ? Effect.succeed("") : requiredOption(options[of], of),
        limit: limitOption(options.limit, { byDefault: LIST_LIMIT_DEFAULT, most: LIST_LIMIT_MAX }),
        state:
          givenState === undefined || states === undefined
            ? Effect.undefined
            : oneOf<State>(states, givenState, "state")
      })
      const asked = {
        organization,
        named,
        limit,
        ...(state === undefined ? {} : { state }),
        ...(cursor === undefined ? {} : { cursor }),
        ...(subject === undefined ? {} : { subjectReference: subject })
      }
      return Effect.as(findOrganization(organization), {
        organization,
        act: Effect.provide(Effect.mapError(read(asked), faultOfRefusal), RandomnessNodeCrypto.layer)
      })
    })
  }
}

const parsed = (page: ListPage<string>): ListPage<unknown> => ({
  ...page,
  data: page.data.map(parseJson)
})

/** The latest events of a journal, oldest first. */
const latestEvents = Effect.fnUntraced(function* (organization: string, mandateId: string, limit: number) {
  const events: Array<string> = []
  let page: ListPage<string> | undefined
  do {
    const cursor = page?.next_cursor
    page = yield* listEvents({
      organization,
      mandateId,
      limit: LIST_LIMIT_MAX,
      ...(typeof cursor === "string" ? { cursor } : {})
    })
    events.push(...page.data)
    events.splice(0, events.length - limit)
  } while (page.has_more)
  return events.map(parseJson)
})

export const supportCommands: ReadonlyArray<StoreCommand> = [
  commandOf({
    name: "mandate list",
    prints: "the mandates of an organization, newest first",
    states: MandateStateName.literals,
    isOfSubject: true,
    size: "page",
    columns: [
      ["MANDATE", "id"],
      ["STATE", "state"],
      ["KIND", "kind"],
      ["SUBJECT", "subject_reference"],
      ["CREATED", "created_at"],
      ["ENDED", "ended_at"]
    ],
    read: ({ named: _, ...query }) => listMandates(query)
  }),
  commandOf({
    name: "mandate show",
    prints: "a mandate, its newest authorizations, and the latest events of its journal, oldest first",
    of: "mandate",
    size: "count",
    read: ({ limit, named: mandateId, organization }) =>
      Effect.all({
        mandate: readMandate({ organization, mandateId }),
        authorizations: listAuthorizations({ organization, mandateId, limit }),
        latest_events: latestEvents(organization, mandateId, limit)
      })
  }),
  commandOf({
    name: "mandate events",
    prints: "the journal of a mandate, oldest first",
    of: "mandate",
    size: "page",
    columns: [["SEQ", "seq"], ...EVENT_COLUMNS],
    read: ({ named: mandateId, ...query }) => Effect.map(listEvents({ ...query, mandateId }), parsed)
  }),
  commandOf({
    name: "authorization list",
    prints: "the authorizations of a mandate, newest first",
    of: "mandate",
    states: AuthorizationStateName.literals,
    size: "page",
    columns: [
      ["AUTHORIZATION", "id"],
      ["STATE", "state"],
      ["AMOUNT", "proposed_action.payment.amount"],
      ["CURRENCY", "proposed_action.payment.currency"],
      ["REFERENCE", "external_reference"],
      ["CREATED", "created_at"],
      ["CLOSED", "closed_at"]
    ],
    read: ({ named: mandateId, ...query }) => listAuthorizations({ ...query, mandateId })
  }),
  commandOf({
    name: "authorization show",
    prints: "an authorization",
    of: "authorization",
    read: ({ named: authorizationId, organization }) => readAuthorization({ organization, authorizationId })
  }),
  commandOf({
    name: "webhook-endpoint list",
    prints: "the webhook endpoints of an organization, newest first",
    size: "page",
    columns: [
      ["ENDPOINT", "id"],
      ["STATUS", "status"],
      ["FAILED IN A ROW", "consecutive_failed_attempts"],
      ["MISSED SINCE", "missed_since"],
      ["URL", "url"]
    ],
    read: ({ named: _, ...query }) => listWebhookEndpoints(query)
  }),
  commandOf({
    name: "webhook-endpoint deliveries",
    prints: "the deliveries to an endpoint with their attempts, newest first",
    of: "endpoint",
    size: "page",
    columns: [
      ["DELIVERY", "id"],
      ["STATE", "state"],
      ["TYPE", "event_type"],
      ["ATTEMPTS", "attempts.length"],
      ["NEXT ATTEMPT", "next_attempt_at"]
    ],
    read: ({ named: endpointId, ...query }) => listWebhookDeliveries({ ...query, endpointId })
  }),
  commandOf({
    name: "event list",
    prints: "the events of all mandates of an organization, oldest first, as GET /v1/events does",
    size: "page",
    columns: [["MANDATE", "mandate_id"], ...EVENT_COLUMNS],
    read: ({ cursor, limit, organization }) =>
      Effect.map(
        readEventFeed({ organization, limit, ...(cursor === undefined ? {} : { after: cursor }) }),
        parsed
      )
  })
]
