import type { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import type { PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import type { Signer } from "@svc/domain/ports/Signer"
import type { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  reactivateWebhookEndpoint
} from "@svc/domain/programs/WebhookEndpoints"
import { formatInstant } from "@svc/protocol/Timestamp"
import {
  cancelReport,
  commitReport,
  harnessOrganization,
  makeCaller,
  type ProgramPorts,
  proposalBody,
  recurringBody
} from "@svc/testkit/ProgramHarness"
import { DAY, newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect } from "effect"
import type { AuditedEndpoint } from "./WebhookAuditor.ts"
import type { WebhookJournal } from "./WebhookJournal.ts"
import type { Manner, WebhookReceiver } from "./WebhookReceiver.ts"

type Registered = { -readonly [Name in keyof AuditedEndpoint]: AuditedEndpoint[Name] }

/** Runs a program with the ports that there are in this process: nobody proves who he is, or asks for evidence. */
export type RunPrograms = <A, E>(
  program: Effect.Effect<
    A,
    E,
    Exclude<ProgramPorts, IdentityVerifier | PasskeyVerifier | Signer> | WebhookStore | WebhookTransport
  >
) => Promise<A>

/** One organization: its endpoints, and what happens in it. */
export interface WebhookTenant {
  readonly endpoints: ReadonlyArray<AuditedEndpoint>
  readonly register: (manner: Manner) => Promise<string>
  readonly remove: (endpoint: string) => Promise<void>
  /** Makes those active that are disabled; answers how many there were. */
  readonly reactivate: () => Promise<number>
  /** The life of one mandate: its events, one after the other. */
  readonly live: () => Promise<void>
}

const LIST_LIMIT = 100

export const newWebhookTenant = (
  run: RunPrograms,
  receiver: WebhookReceiver,
  journal: Pick<WebhookJournal, "point">
): WebhookTenant => {
  const organization = harnessOrganization({ id: newIdentifier("org_") })
  const caller = makeCaller(organization)
  const endpoints: Array<Registered> = []
  let numbers = 0
  const write = () => caller.write({})
  return {
    endpoints,
    register: async (manner) => {
      const path = `/${manner}/${newIdentifier("whe_")}`
      receiver.behave(path, manner)
      const { resource } = await run(createWebhookEndpoint(caller.write({ url: receiver.url(path) })))
      const { id, secret = "" } = resource
      endpoints.push({ id, organization: organization.id, path, secret, registered: await journal.point() })
      return id
    },
    remove: async (endpoint) => {
      const asked = await journal.point()
      await run(deleteWebhookEndpoint({ ...write(), endpointId: endpoint }))
      const known = endpoints.find(({ id }) => id === endpoint)
      if (known !== undefined) known.deleted = { asked, answered: await journal.point() }
    },
    reactivate: async () => {
      const { data } = await run(listWebhookEndpoints({ organization: organization.id, limit: LIST_LIMIT }))
      const disabled = data.filter(({ status }) => status === "disabled")
      for (const { id } of disabled) await run(reactivateWebhookEndpoint({ ...write(), endpointId: id }))
      return disabled.length
    },
    live: () =>
      run(
        Effect.gen(function* () {
          const ends = formatInstant(BigInt(Date.now()) * 1_000_000n + 30n * DAY)
          const { resource: mandate } = yield* caller.create(recurringBody({}, { window: { ends_at: ends } }))
          yield* caller.approve(mandate.id)
          const [first, second] = [++numbers, ++numbers]
          const { resource: kept } = yield* caller.propose(mandate.id, proposalBody(first))
          const { resource: dropped } = yield* caller.propose(mandate.id, proposalBody(second))
          const now = formatInstant(BigInt(Date.now()) * 1_000_000n)
          yield* Effect.all(
            [
              caller.commit(kept.id, commitReport(first, { reported_accepted_at: now })),
              caller.cancel(dropped.id, cancelReport())
            ],
            { concurrency: "unbounded" }
          )
          yield* caller.revoke(mandate.id)
        })
      )
  }
}
