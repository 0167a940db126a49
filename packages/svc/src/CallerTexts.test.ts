import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Context, Effect, Layer } from "effect"
import {
  approvedMandate,
  commitReport,
  makeShop,
  newMandate,
  newProposal,
  RETURN_ORIGIN
} from "../test/Shop.ts"
import { createService, type OrganizationFace, type Service, SvcError } from "./index.ts"
import { StoreLayer } from "./Store.ts"

/** Texts that JSON or a database cannot keep. */
const TEXTS = { "a lone high surrogate": "a\ud800", "a lone low surrogate": "\udc00a", "U+0000": "a\u0000" }

interface Shop {
  readonly face: OrganizationFace
  readonly mandate: string
  readonly authorization: string
  readonly opening: string
}

type Case = readonly [pointer: string, call: (shop: Shop, text: string) => Promise<unknown>]

const CALLS: Readonly<Record<string, Case>> = {
  "a mandate's subject": [
    "/subject_reference",
    ({ face }, text) => face.mandates.create({ ...newMandate("u"), subject_reference: text })
  ],
  "a mandate's description": [
    "/description",
    ({ face }, text) => face.mandates.create({ ...newMandate("u"), description: text })
  ],
  "an allowed action": [
    "/policy/allowed_actions/0",
    ({ face }, text) => {
      const { policy, ...mandate } = newMandate("u")
      return face.mandates.create({ ...mandate, policy: { ...policy, allowed_actions: [text] } })
    }
  ],
  "the filter of a list": [
    "/subject_reference",
    ({ face }, text) => face.mandates.list({ subject_reference: text })
  ],
  "the reason of a revocation": [
    "/reason",
    ({ face, mandate }, text) => face.mandates.revoke(mandate, { reason: text })
  ],
  "the state of a return": [
    "/return_state",
    ({ face, mandate }, text) =>
      face.mandates.openApproval(mandate, {
        identity_assertion: "assertion",
        return_url: `${RETURN_ORIGIN}/back`,
        return_state: `unpredictable-0001${text}`
      })
  ],
  "an identity assertion": [
    "/identity_assertion",
    ({ face, mandate }, text) =>
      face.mandates.openApproval(mandate, {
        identity_assertion: text,
        return_url: `${RETURN_ORIGIN}/back`,
        return_state: "unpredictable-0001"
      })
  ],
  "a proposal's reference": [
    "/external_reference",
    async ({ face, mandate }, text) =>
      face.authorizations.propose(mandate, { ...(await newProposal()).proposal, external_reference: text })
  ],
  "a proposed action": [
    "/proposed_action/action",
    async ({ face, mandate }, text) => {
      const { proposal } = await newProposal()
      return face.authorizations.propose(mandate, {
        ...proposal,
        proposed_action: { ...proposal.proposed_action, action: text }
      })
    }
  ],
  "an attribute of a proposed action": [
    "/proposed_action/attributes/colour",
    async ({ face, mandate }, text) => {
      const { proposal } = await newProposal()
      return face.authorizations.propose(mandate, {
        ...proposal,
        proposed_action: { ...proposal.proposed_action, attributes: { colour: text } }
      })
    }
  ],
  "the reference of an executed action": [
    "/external_action_reference",
    ({ authorization, face, opening }, text) =>
      face.authorizations.commit(authorization, { ...commitReport(opening), external_action_reference: text })
  ],
  "the reference of a provider's transaction": [
    "/provider_transaction_reference",
    ({ authorization, face, opening }, text) =>
      face.authorizations.commit(authorization, {
        ...commitReport(opening),
        provider_transaction_reference: text
      })
  ],
  "the opening of a commitment": [
    "/commitment_opening",
    ({ authorization, face }, text) => face.authorizations.commit(authorization, commitReport(text))
  ],
  "the reference of a credential": [
    "/external_credential_reference",
    ({ authorization, face }, text) =>
      face.authorizations.cancel(authorization, {
        reason: "EXECUTOR_REJECTED",
        execution_disposition: "NO_LONGER_POSSIBLE",
        external_credential_reference: text
      })
  ],
  "the reference of a refund": [
    "/provider_refund_reference",
    ({ authorization, face }, text) =>
      face.authorizations.reportRefund(authorization, {
        amount: 1,
        currency: "EUR",
        provider_refund_reference: text,
        reported_refunded_at: "2026-12-01T09:05:00Z"
      })
  ],
  "the description of a webhook endpoint": [
    "/description",
    ({ face }, text) => face.webhooks.create({ url: "https://hooks.example/", description: text })
  ]
}

describe("a text that no store can keep", () => {
  let written = 0
  let service: Service | undefined
  let given: Shop | undefined

  /** Counts what reaches the store to be kept. */
  const counting = Layer.effectContext(
    Effect.gen(function* () {
      const mandates = yield* MandateStore
      const webhooks = yield* WebhookStore
      const count = Effect.sync(() => {
        written += 1
      })
      return Context.make(MandateStore, {
        ...mandates,
        append: (change) => Effect.andThen(count, mandates.append(change))
      }).pipe(
        Context.add(WebhookStore, {
          ...webhooks,
          changeEndpoint: (change) => Effect.andThen(count, webhooks.changeEndpoint(change))
        })
      )
    })
  )

  beforeAll(async () => {
    const { store } = makeShop().serviceOptions
    const shop = makeShop({
      worker: false,
      store: { ...store, [StoreLayer]: (signer) => Layer.provideMerge(counting, store[StoreLayer](signer)) }
    })
    service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { opening, proposal } = await newProposal()
    const { id: authorization } = await face.authorizations.propose(mandate, proposal)
    given = { face, mandate, authorization, opening }
    assert.isAbove(written, 0)
    written = 0
  })

  afterAll(() => service?.close())

  for (const [what, [pointer, call]] of Object.entries(CALLS))
    it(`is refused as ${what}`, async () => {
      for (const [kind, text] of Object.entries(TEXTS)) {
        const refused = await call(given!, text).catch((error: unknown) => error)
        assert.instanceOf(refused, SvcError, kind)
        const { code, errors } = refused as SvcError
        assert.deepStrictEqual(
          [code, errors.map((fault) => fault.pointer)],
          ["validation_failed", [pointer]],
          kind
        )
      }
      assert.strictEqual(written, 0)
    })

  it("is refused as a key, a cursor or an identifier, too", async () => {
    const { face, mandate } = given!
    for (const text of Object.values(TEXTS))
      for (const [call, code] of [
        [face.mandates.create(newMandate("u"), { idempotencyKey: text }), "idempotency_key_invalid"],
        [face.mandates.list({ cursor: text }), "invalid_cursor"],
        [face.events.list({ after: text }), "invalid_cursor"],
        [face.mandates.get(text), "not_found"],
        [face.mandates.revoke(text, { reason: "not needed" }), "not_found"],
        [face.authorizations.list(mandate, { cursor: text }), "invalid_cursor"]
      ] as const) {
        const refused = await call.catch((error: unknown) => error)
        assert.instanceOf(refused, SvcError)
        assert.strictEqual((refused as SvcError).code, code)
      }
    assert.strictEqual(written, 0)
  })
})
