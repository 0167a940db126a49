import { assert, layer } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { type LeasedDelivery, WebhookStore } from "@svc/domain/ports/WebhookStore"
import { testWebhookEndpoint } from "@svc/domain/programs/WebhookDeliveries"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { harnessOrganization, makeCaller, proposalBody } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { ConfigProvider, Effect } from "effect"
import { besideStore, makeEndpoint, monthlyBody } from "../../test/SampleData.ts"
import { redeliveryCommands } from "./RedeliveryCommands.ts"
import { printedText, runStoreCommand } from "./StoreCommand.ts"
import { supportCommands } from "./SupportCommands.ts"

const newCaller = Effect.gen(function* () {
  const organization = harnessOrganization({ id: newIdentifier("org_") })
  yield* (yield* Organizations).put(organization)
  return makeCaller(organization)
})

const run = Effect.fnUntraced(function* (
  text: string,
  organization: string,
  words: ReadonlyArray<string> = []
) {
  const command = [...supportCommands, ...redeliveryCommands].find(({ name }) => name === text)
  if (command === undefined) return yield* Effect.die(new Error(`there is no ${text}`))
  const context = yield* Effect.context<PostgresPorts>()
  const given = ["--organization", organization, ...words]
  const answer = yield* runStoreCommand(command, given, Effect.provideContext(context)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: {} }))
  )
  // biome-ignore lint/suspicious/noExplicitAny: the tests look at what comes out.
  return JSON.parse(JSON.stringify(answer)) as any
})

const faultOf = (...given: Parameters<typeof run>) =>
  Effect.map(Effect.flip(run(...given)), ({ exitCode, line }) => [exitCode, line] as const)

const idsOf = ({ data }: { readonly data: ReadonlyArray<{ readonly id: string }> }) =>
  data.map(({ id }) => id)

/** Ends the deliveries of an organization that are due, as those that were given up after their last attempt. */
const giveUp = Effect.fnUntraced(function* (organization: string) {
  const store = yield* WebhookStore
  const token = "given-up"
  const lease = { token, limit: 100, perEndpoint: 100, assured: 100, perOrganization: 100, lasts: 10n ** 12n }
  const leased = (yield* store.leaseDue(lease)).filter(
    ({ delivery }) => delivery.organizationId === organization
  )
  const [{ endpoint, revision }] = leased as [LeasedDelivery]
  const deliveries = leased.map(({ delivery: { nextAttemptAt: _next, open: _open, ...delivery } }) => ({
    next: { ...delivery, state: "exhausted" as const },
    token
  }))
  yield* store.recordAttempts([{ organization, endpoint, expected: revision, deliveries }])
})

layer(preparedStore, { excludeTestServices: true, timeout: "120 seconds" })(
  "svc commands for support",
  (it) => {
    it.effect("show mandates, their authorizations and their journal, in pages", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const { id: organization } = caller.organization
        const { resource: first } = yield* caller.create({ ...monthlyBody(), subject_reference: "user_1" })
        const { resource: second } = yield* caller.create({ ...monthlyBody(), subject_reference: "user_2" })
        yield* caller.approve(first.id)
        const { resource: allowed } = yield* caller.propose(first.id, proposalBody(1))
        const { resource: denied } = yield* caller.propose(first.id, proposalBody(2, 1001))

        assert.deepStrictEqual(idsOf(yield* run("mandate list", organization)), [second.id, first.id])
        const active = ["--state", "ACTIVE"]
        assert.deepStrictEqual(idsOf(yield* run("mandate list", organization, active)), [first.id])
        const ofUser = ["--subject", "user_2"]
        assert.deepStrictEqual(idsOf(yield* run("mandate list", organization, ofUser)), [second.id])
        const page = yield* run("mandate list", organization, ["--limit", "1"])
        const next = ["--limit", "1", "--cursor", page.next_cursor]
        assert.deepStrictEqual(idsOf(yield* run("mandate list", organization, next)), [first.id])

        const of = ["--mandate", first.id]
        const types = [
          "mandate.created",
          "mandate.approved",
          "authorization.reserved",
          "authorization.denied"
        ]
        const typesOf = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)
        const shown = yield* run("mandate show", organization, of)
        assert.strictEqual(shown.mandate.state, "ACTIVE")
        assert.deepStrictEqual(idsOf(shown.authorizations), [denied.id, allowed.id])
        assert.deepStrictEqual(typesOf(shown.latest_events), types)
        const short = yield* run("mandate show", organization, [...of, "--limit", "1"])
        assert.deepStrictEqual(typesOf(short.latest_events), types.slice(-1))
        assert.deepStrictEqual(typesOf((yield* run("mandate events", organization, of)).data), types)

        const reserved = [...of, "--state", "RESERVED"]
        assert.deepStrictEqual(idsOf(yield* run("authorization list", organization, reserved)), [allowed.id])
        const one = yield* run("authorization show", organization, ["--authorization", denied.id])
        assert.strictEqual(one.reasons[0].code, "PERIOD_AMOUNT_EXCEEDED")
        const feed = yield* run("event list", organization, ["--limit", "2"])
        assert.deepStrictEqual(typesOf(feed.data), ["mandate.created", "mandate.created"])
        const rest = yield* run("event list", organization, ["--cursor", feed.next_cursor])
        assert.deepStrictEqual(typesOf(rest.data), types.slice(1))
      }).pipe(Effect.provide(besideStore))
    )

    it.effect("show webhook endpoints without their secrets, and their deliveries", () =>
      Effect.gen(function* () {
        const { organization } = yield* newCaller
        const { id, secret } = yield* makeEndpoint(organization)
        yield* testWebhookEndpoint({ organization, body: {}, endpointId: id, idempotencyKey: "test" })
        const endpoints = yield* run("webhook-endpoint list", organization.id)
        assert.deepStrictEqual(idsOf(endpoints), [id])
        assert.notInclude(JSON.stringify(endpoints), String(secret))
        const deliveries = yield* run("webhook-endpoint deliveries", organization.id, ["--endpoint", id])
        assert.deepInclude(deliveries.data[0], { state: "pending", event_type: "endpoint.test" })
      }).pipe(Effect.provide(besideStore))
    )

    it.effect("deliver again what an endpoint missed since then, once, and oldest first", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const { organization } = caller
        const { id } = yield* makeEndpoint(organization)
        const { resource: mandate } = yield* caller.create(monthlyBody())
        yield* caller.approve(mandate.id)
        yield* caller.propose(mandate.id, proposalBody(1))
        yield* giveUp(organization.id)
        const of = ["--endpoint", id, "--since"]
        const deliveries = run("webhook-endpoint deliveries", organization.id, ["--endpoint", id])
        const missed = yield* deliveries
        assert.deepStrictEqual(
          missed.data.map(({ state }: { readonly state: string }) => state),
          ["exhausted", "exhausted", "exhausted"]
        )
        const never = { redelivered: 0, redelivered_before: 0, left: 0 }
        const later = "2099-01-01T00:00:00Z"
        assert.deepStrictEqual(
          yield* run("webhook-endpoint redeliver", organization.id, [...of, later]),
          never
        )
        const since = [...of, "2020-01-01T00:00:00Z"]
        const added: Array<string> = []
        const made = yield* run("webhook-endpoint redeliver", organization.id, since).pipe(
          Effect.updateService(WebhookStore, (store) => ({
            ...store,
            addDelivery: (addition) => {
              added.push(addition.delivery.eventId)
              return store.addDelivery(addition)
            }
          }))
        )
        assert.deepStrictEqual(made, { ...never, redelivered: 3 })
        const eventsOf = (entries: ReadonlyArray<{ readonly event_id: string }>) =>
          entries.map(({ event_id }) => event_id)
        assert.deepStrictEqual(added, eventsOf(missed.data).toReversed())
        const after = yield* deliveries
        const waiting = after.data.filter(
          (entry: { readonly next_attempt_at?: string }) => entry.next_attempt_at !== undefined
        )
        // In no order: identifiers of one millisecond, and instants of one tick of the clock.
        assert.deepStrictEqual(eventsOf(waiting).toSorted(), eventsOf(missed.data).toSorted())
        const again = yield* run("webhook-endpoint redeliver", organization.id, since)
        assert.deepStrictEqual(again, { ...never, redelivered_before: 3 })
        assert.deepStrictEqual(yield* deliveries, after)
        const elsewhere = (yield* newCaller).organization.id
        assert.deepStrictEqual(yield* faultOf("webhook-endpoint redeliver", elsewhere, since), [
          64,
          "the organization has no endpoint of that identifier"
        ])
      }).pipe(Effect.provide(besideStore))
    )

    it.effect("print tables on a terminal, without what a terminal would obey", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const body = { ...monthlyBody(), subject_reference: "user\u202e" }
        const { resource: mandate } = yield* caller.create(body)
        const command = supportCommands.find(({ name }) => name === "mandate list")!
        const answer = yield* run("mandate list", caller.organization.id)
        assert.deepStrictEqual(JSON.parse(printedText(command, [], answer)), answer)
        const [headings, row] = printedText(command, [], answer, true).split("\n")
        assert.match(headings!, /^MANDATE +STATE +KIND +SUBJECT +CREATED +ENDED$/u)
        assert.match(
          row!,
          new RegExp(`^${mandate.id}  PENDING_APPROVAL  RECURRING  user\ufffd +20\\S+Z +-$`, "u")
        )
      }).pipe(Effect.provide(besideStore))
    )

    it.effect("say what is wrong, and show nothing of another organization", () =>
      Effect.gen(function* () {
        const [mine, other] = [yield* newCaller, yield* newCaller]
        const { resource: mandate } = yield* mine.create(monthlyBody())
        const elsewhere = other.organization.id
        for (const name of ["mandate show", "mandate events", "authorization list"])
          assert.deepStrictEqual(yield* faultOf(name, elsewhere, ["--mandate", mandate.id]), [
            64,
            "the organization has nothing of that identifier"
          ])
        assert.deepStrictEqual(yield* faultOf("mandate list", "org_00000000000000000000000000"), [
          64,
          "--organization names none of the store"
        ])
        for (const [name, words, line] of [
          ["mandate list", ["--state", "OPEN"], /^--state must be one of PENDING_APPROVAL, /u],
          ["mandate list", ["--limit", "101"], /^--limit must be 1 to 100$/u],
          ["mandate list", ["--cursor", "x"], /^The cursor was not issued for this list/u],
          ["mandate show", [], /^--mandate is missing$/u],
          ["mandate events", ["--mandate", mandate.id, "--state", "ACTIVE"], /^unknown option --state/u]
        ] as const) {
          const [code, text] = yield* faultOf(name, mine.organization.id, words)
          assert.strictEqual(code, 64, name)
          assert.match(text, line)
        }
      }).pipe(Effect.provide(besideStore))
    )
  }
)
