import { assert, describe, it } from "@effect/vitest"
import { approveOnPage } from "@svc/testkit/ApproveOnPage"
import { makeSoftwarePasskey, type SoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { posted, promiseMemory } from "../../test/PromiseMemory.ts"
import { createCommitment, SvcError } from "../index.ts"
import { memory } from "../memory.ts"
import { instantOf } from "./ManualClock.ts"
import { type TestServiceOptions, testService } from "./TestService.ts"
import type { ReceivedWebhook } from "./WebhookReceiver.ts"

const NOON = "2026-03-28T12:00:00Z"

/** A service at noon before the night in which Berlin's clocks go forward, and a mandate of 30 days. */
const begin = async (options: TestServiceOptions = {}) => {
  const service = await testService({ now: NOON, logger: () => undefined, ...options })
  const shop = service.forOrganization(service.organization)
  const create = (subject = "user_1") =>
    shop.mandates.create({
      kind: "SINGLE",
      subject_reference: subject,
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: service.clock.after({ days: 30 }) }
    })
  return { service, shop, create }
}

const typesOf = (webhooks: ReadonlyArray<ReceivedWebhook>) => webhooks.map(({ event }) => event.type)

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error
  )

describe("a test service", () => {
  it("approves mandates on the page, the second one of an end user with the passkey of the first", async () => {
    const { create, service, shop } = await begin()
    const [one, other] = [await create(), await create()]
    assert.strictEqual((await service.approve(one)).state, "ACTIVE")
    assert.strictEqual((await service.approve(other.id)).state, "ACTIVE")
    assert.lengthOf((await shop.passkeys.list("user_1")).data, 1)
    await service.approve(await create("user_2"))
    assert.lengthOf((await shop.passkeys.list("user_2")).data, 1)
    await service.close()
  })

  it("says of a second approval with a new passkey that the user has one, and what to do", async () => {
    const { create, service, shop } = await begin()
    const approve = async (passkey?: SoftwarePasskey) => {
      const session = await shop.mandates.openApproval((await create()).id, {
        identity_assertion: "user_1",
        return_url: "https://shop.example/approved",
        return_state: crypto.randomUUID()
      })
      await approveOnPage(session.approval_url ?? "", service.fetch, passkey)
    }
    const kept = makeSoftwarePasskey({ origin: "http://localhost:3000" })
    await approve(kept)
    const refused = (await errorOf(approve())) as Error
    assert.match(refused.message, /has a passkey already.*give the same one to every approveOnPage/u)
    await approve(kept)
    await service.close()
  })

  it("shows the time of its clock alone", async () => {
    const { create, service, shop } = await begin()
    const mandate = await create()
    assert.strictEqual(mandate.created_at, "2026-03-28T12:00:00.000000000Z")
    await service.approve(mandate)
    await service.clock.advance({ hours: 1 })
    const { commitment, opening } = await createCommitment()
    const authorization = await shop.authorizations.propose(mandate.id, {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment
    })
    assert.strictEqual(authorization.execute_before, "2026-03-28T13:15:00.000000000Z")
    const committed = await shop.authorizations.commit(authorization.id, {
      external_action_reference: "order-1",
      provider_transaction_reference: "txn_1",
      reported_accepted_at: service.clock.now(),
      commitment_opening: opening
    })
    assert.strictEqual(committed.state, "COMMITTED")
    assert.deepStrictEqual(typesOf(await service.webhooks.received()), [
      "mandate.created",
      "mandate.approved",
      "authorization.reserved",
      "authorization.committed",
      "mandate.consumed"
    ])
    await service.close()
  })

  it("executes by its clock", async () => {
    const { create, service, shop } = await begin()
    const mandate = await create()
    await service.approve(mandate)
    const { commitment, opening } = await createCommitment()
    const authorization = await shop.authorizations.propose(mandate.id, {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment
    })
    const charge = async () => ({ outcome: "accepted" as const, provider_transaction_reference: "txn_1" })
    const executed = await shop.execute(authorization, charge, { opening })
    assert.strictEqual(executed.outcome, "committed")
    assert.strictEqual(executed.authorization.commit?.reported_accepted_at, "2026-03-28T12:00:00Z")
    await service.close()
  })

  it("records what falls due on the way at the instant at which it does, and delivers it then", async () => {
    const { create, service, shop } = await begin()
    const mandate = await create()
    await service.approve(mandate)
    await shop.authorizations.propose(mandate.id, {
      external_reference: "order-1",
      proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
      execution_window_seconds: 900,
      commitment: (await createCommitment()).commitment
    })
    await service.clock.advance({ months: 2 })
    assert.strictEqual(service.clock.now(), "2026-05-28T12:00:00Z")
    const all = await service.webhooks.received()
    assert.deepStrictEqual(
      all.slice(-2).map(({ event, receivedAt }) => [event.type, event.occurred_at, receivedAt]),
      [
        ["authorization.expired", "2026-03-28T12:15:00.000000000Z", "2026-03-28T12:15:00Z"],
        ["mandate.expired", "2026-04-27T12:00:00.000000000Z", "2026-04-27T12:00:00Z"]
      ]
    )
    assert.strictEqual((await shop.mandates.get(mandate.id)).state, "EXPIRED")
    await service.close()
  })

  it("moves by the calendar of a time zone, over changes of its clocks and the ends of months", async () => {
    const { service } = await begin()
    const { clock } = service
    const berlin = { timeZone: "Europe/Berlin" }
    await clock.advance({ days: 1 }, berlin)
    assert.strictEqual(clock.now(), "2026-03-29T11:00:00Z")
    await clock.set("2026-10-24T11:00:00Z")
    assert.strictEqual(clock.after({ days: 1 }, berlin), "2026-10-25T12:00:00Z")
    assert.strictEqual(clock.after({ days: 1 }), "2026-10-25T11:00:00Z")
    await clock.set("2027-01-31T09:00:00.123456789Z")
    await clock.advance({ months: 1 })
    assert.strictEqual(clock.now(), "2027-02-28T09:00:00.123456789Z")
    assert.match(String(await errorOf(clock.set(NOON))), /does not go back/u)
    assert.match(String(await errorOf(clock.set("tomorrow"))), /RFC 3339/u)
    assert.match(String(await errorOf(clock.advance({ days: 1 }, { timeZone: "Mars" }))), /no time zone/u)
    assert.match(String(await errorOf(clock.advance({ days: -1 }))), /does not go back/u)
    assert.strictEqual(clock.now(), "2027-02-28T09:00:00.123456789Z")
    await service.close()
  })

  it("delivers to a receiver of the test, again and again as the clock moves until it is answered 2xx", async () => {
    const answers = [503, 500, 204]
    const bodies: Array<string> = []
    const { create, service } = await begin({
      receive: async (request) => {
        bodies.push(await request.text())
        return new Response(null, { status: answers.shift() ?? 204 })
      }
    })
    await create()
    const first = await service.webhooks.next("mandate.created")
    assert.strictEqual(first.status, 503)
    assert.isTrue(first.headers["svc-signature"]?.startsWith(`t=${Date.parse(NOON) / 1000},`))
    await service.clock.advance({ hours: 2 })
    const all = await service.webhooks.received()
    assert.deepStrictEqual(
      all.map(({ status }) => status),
      [503, 500, 204]
    )
    assert.deepStrictEqual(new Set(all.map(({ event }) => event.id)).size, 1)
    assert.deepStrictEqual(
      bodies,
      all.map(({ body }) => body)
    )
    const times = all.map(({ receivedAt }) => Date.parse(receivedAt))
    assert.deepStrictEqual(
      times,
      times.toSorted((one, other) => one - other)
    )
    assert.lengthOf([...new Set(times)], 3)
    await service.close()
  })

  it("says which webhooks have arrived when one has not, and what its receiver threw", async () => {
    const { create, service } = await begin()
    await create()
    assert.match(
      String(await errorOf(service.webhooks.next("mandate.approved"))),
      /no webhook mandate\.approved has arrived; since the last one: mandate\.created/u
    )
    await service.close()
    const faulty = await begin({
      receive: () => {
        throw new Error("not today")
      }
    })
    await faulty.create()
    assert.match(String(await errorOf(faulty.service.webhooks.received())), /not today/u)
    await faulty.service.close()
  })

  it("runs over a store of one's own, which shows its time and may be in another thread", async () => {
    const times: Array<bigint> = []
    const { create, service, shop } = await begin({
      store: async (time) => {
        const store = posted(await promiseMemory(time))
        const load: typeof store.mandates.load = (query) => {
          times.push(time.now())
          return store.mandates.load(query)
        }
        return { ...store, mandates: { ...store.mandates, load } }
      }
    })
    const mandate = await service.approve(await create())
    await service.webhooks.next("mandate.approved")
    await service.clock.advance({ days: 31 })
    await service.webhooks.next("mandate.expired")
    assert.strictEqual((await shop.mandates.get(mandate.id)).state, "EXPIRED")
    const [first, last] = [times[0] ?? 0n, times.at(-1) ?? 0n]
    assert.strictEqual(first, instantOf(NOON))
    assert.strictEqual(last, instantOf(service.clock.now()))
    await service.close()
  })

  it("gives an SvcError for what is refused, and serves its API for keys of its own", async () => {
    const { service, shop } = await begin()
    assert.instanceOf(await errorOf(shop.mandates.get("mnd_00000000000000000000000000")), SvcError)
    const { key } = await service.createApiKey(service.organization)
    const response = await service.fetch(
      new Request("http://localhost:3000/mandates/v1/mandates", {
        headers: { authorization: `Bearer ${key}` }
      })
    )
    assert.strictEqual(response.status, 200)
    await service.close()
  })
})

describe("what a test service is given by mistake", () => {
  it("is refused with what to do: options that there are not, and those that it has in its own way", async () => {
    for (const [options, message] of [
      [{ nwo: NOON }, 'testService: there is no option "nwo"; was now meant?'],
      [{ recieve: () => 204 }, "was receive meant?"],
      [{ store: memory() }, "store must be a function that makes it, such as ({ now }) => makeMyStore(now)."],
      [{ worker: true }, "deliveries and due transitions are made when the clock moves."],
      [{ webhooks: "no" }, "webhooks must be true or false."],
      [{ receive: 204 }, "receive must be a function."],
      [NOON, 'options must be an object, such as { now: "2026-03-28T12:00:00Z" }.'],
      [
        { now: 1774699200000 },
        "a time is a text such as 2026-03-29T00:59:59Z, and was something of type number"
      ]
    ] as const) {
      const refused = await errorOf(testService(options as never))
      assert.instanceOf(refused, TypeError)
      assert.include((refused as TypeError).message, message)
    }
  })

  it("is refused by its clock, which stays where it is", async () => {
    const { service } = await begin()
    const { clock } = service
    const before = clock.now()
    for (const duration of [5, "5 days", [5], null, undefined, Promise.resolve({ days: 5 })]) {
      const refused = await errorOf(clock.advance(duration as never))
      assert.instanceOf(refused, TypeError)
      assert.include((refused as TypeError).message, "a duration is an object such as { days: 30 }, and was ")
      assert.throws(() => clock.after(duration as never), TypeError)
    }
    assert.instanceOf(await errorOf(clock.set(5 as never)), TypeError)
    assert.strictEqual(clock.now(), before)
    await service.close()
  })
})
