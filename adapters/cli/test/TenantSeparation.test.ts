import { assert, describe, it } from "@effect/vitest"
import type { RawAnswer } from "@svc/http-server/test/RawExchange"
import { Effect } from "effect"
import { KEYED_ROUTES, type ListedRoute, parametersOf, pathOf } from "./RouteList.ts"
import { sampleOf } from "./SampleValue.ts"
import { bodyOf, drawCommitment, newKey, SUBJECT, startService, type Tenant } from "./ServiceUnderTest.ts"

const ABSENT = "00000000000000000000000000"

/** Identifiers that no organization has, by the parameter that they are for. */
const ABSENT_VALUES: Readonly<Record<string, string>> = {
  mandate_id: `mnd_${ABSENT}`,
  authorization_id: `aut_${ABSENT}`,
  subject_reference: "nobody",
  passkey_id: `psk_${ABSENT}`,
  webhook_endpoint_id: `whe_${ABSENT}`,
  delivery_id: `dlv_${ABSENT}`
}

/** Nothing listens there, and nothing is sent: these tests have no worker. */
const WEBHOOK_TARGET = "http://localhost:19999/hook"

const RECURRING = {
  kind: "RECURRING",
  policy: {
    currency: "EUR",
    max_amount: 5000,
    allowed_actions: ["card.create"],
    periods: [{ unit: "MONTH", max_amount: 50_000 }]
  }
}

/** One resource of each kind, and what was learned of them. */
const settle = Effect.fnUntraced(function* (tenant: Tenant) {
  const active = yield* tenant.activeMandate(RECURRING)
  yield* tenant.newMandate()
  const pending = yield* tenant.newMandate()
  yield* tenant.openSession(pending.id)
  const first = yield* tenant.propose(active.id)
  yield* tenant.commit(first)
  // The second is the newest, so that a list has more than one page.
  yield* tenant.write("POST", "/v1/webhook-endpoints", { url: WEBHOOK_TARGET })
  const endpoint = bodyOf(yield* tenant.write("POST", "/v1/webhook-endpoints", { url: WEBHOOK_TARGET }), 201)
  const second = yield* tenant.propose(active.id)
  const deliveries = yield* tenant.get(`/v1/webhook-endpoints/${endpoint.id}/deliveries`)
  const passkeys = yield* tenant.get(`/v1/subjects/${SUBJECT}/passkeys`)
  return {
    active: active.id as string,
    pending: pending.id as string,
    reserved: second,
    values: {
      mandate_id: active.id,
      authorization_id: second.id,
      subject_reference: SUBJECT,
      passkey_id: passkeys.data[0].id,
      webhook_endpoint_id: endpoint.id,
      delivery_id: deliveries.data[0].id
    } as Readonly<Record<string, string>>
  }
})

type Estate = Effect.Success<ReturnType<typeof settle>>

/** A body that the route takes from whoever owns the resource. */
const bodyFor = Effect.fnUntraced(function* (
  { method, template, rule, payload }: ListedRoute,
  { asker, owner }: { readonly asker: Tenant; readonly owner: Estate }
) {
  if (rule.body === "none") return undefined
  switch (`${method} ${template}`) {
    case "POST /v1/mandates":
      return yield* asker.mandateBody()
    case "PUT /v1/mandates/{mandate_id}/revocation":
      return { reason: "taken over" }
    case "POST /v1/mandates/{mandate_id}/approval-sessions":
      return yield* asker.sessionBody()
    case "POST /v1/mandates/{mandate_id}/authorizations":
      return asker.proposalBody()
    case "PUT /v1/authorizations/{authorization_id}/commit":
      return yield* asker.commitBody(owner.reserved.opening)
    case "PUT /v1/authorizations/{authorization_id}/cancellation":
      return { reason: "CALLER_ABORTED", execution_disposition: "NEVER_BECAME_POSSIBLE" }
    case "POST /v1/authorizations/{authorization_id}/refunds":
      return {
        amount: 1,
        currency: "EUR",
        provider_refund_reference: "refund-1",
        reported_refunded_at: owner.reserved.created_at
      }
    default:
      return rule.body === "empty" || payload === undefined ? {} : sampleOf(payload)
  }
})

/** An answer without what is each answer's own. */
const comparable = ({ status, headers, body }: RawAnswer) => {
  const { "x-request-id": requestId = "", date: _, etag: _etag, ...others } = headers
  return { status, headers: others, body: requestId === "" ? body : body.replaceAll(requestId, "") }
}

const NAMED_ROUTES = KEYED_ROUTES.filter(({ template }) => parametersOf(template).length > 0)

/** Every subset of the parameters that is somebody else's, the rest absent: all of them, and each alone. */
const choicesOf = (names: ReadonlyArray<string>): ReadonlyArray<ReadonlySet<string>> => [
  new Set(names),
  ...(names.length > 1 ? names.map((name) => new Set([name])) : [])
]

const resourceFor = (values: Readonly<Record<string, string>>, name: string): string => {
  const value = values[name]
  if (value === undefined) throw new Error(`the parameter ${name} has no resource here yet; give it one`)
  return value
}

/** All that an organization can see of what it has. */
const shownTo = Effect.fnUntraced(function* (tenant: Tenant, { active, pending, values }: Estate) {
  const paths = [active, pending].flatMap((id) =>
    ["", "/events", "/authorizations"].map((rest) => `/v1/mandates/${id}${rest}`)
  )
  const deliveries = `/v1/webhook-endpoints/${values.webhook_endpoint_id}/deliveries`
  return yield* Effect.forEach(
    [...paths, "/v1/mandates", `/v1/subjects/${SUBJECT}/passkeys`, "/v1/webhook-endpoints", deliveries],
    (path) => tenant.get(path)
  )
})

describe("a resource of another organization (part 2)", () => {
  for (const route of NAMED_ROUTES) {
    const { method, template } = route
    it.live(`is answered like an absent one by ${method} ${template}`, () =>
      Effect.gen(function* () {
        const { tenant, other, watch } = yield* startService()
        const owned = yield* settle(tenant)
        const before = yield* shownTo(tenant, owned)
        for (const foreign of choicesOf(parametersOf(template))) {
          const body = yield* bodyFor(route, { asker: other, owner: owned })
          const ask = (valueFor: (name: string) => string) =>
            other.send({
              method,
              path: pathOf(template, valueFor),
              ...(route.rule.idempotencyKey === "none" ? {} : { idempotencyKey: newKey() }),
              ...(body === undefined ? {} : { body })
            })
          const writes = watch.writes.length
          const absent = yield* ask((name) => resourceFor(ABSENT_VALUES, name))
          const others = yield* ask((name) =>
            resourceFor(foreign.has(name) ? owned.values : ABSENT_VALUES, name)
          )
          assert.deepStrictEqual(comparable(others), comparable(absent))
          if (template !== "/v1/subjects/{subject_reference}/passkeys") assert.strictEqual(others.status, 404)
          assert.strictEqual(watch.writes.length, writes)
        }
        assert.deepStrictEqual(yield* shownTo(tenant, owned), before)
      })
    )
  }

  it.live("is answered to its owner on the same routes", () =>
    Effect.gen(function* () {
      const { tenant } = yield* startService()
      const owned = yield* settle(tenant)
      for (const route of NAMED_ROUTES.filter(({ rule }) => rule.body === "none")) {
        const path = pathOf(route.template, (name) => resourceFor(owned.values, name))
        const answer = yield* tenant.send({ method: route.method, path })
        assert.strictEqual(answer.status, 200, `${route.method} ${path}`)
      }
    })
  )
})

describe("lists (part 2)", () => {
  it.live("hold one organization's resources, whatever cursor or filter of another is sent", () =>
    Effect.gen(function* () {
      const { tenant, other } = yield* startService()
      yield* settle(tenant)
      const lists = KEYED_ROUTES.filter(
        ({ method, template }) => method === "GET" && parametersOf(template).length === 0
      )
      assert.isNotEmpty(lists)
      for (const { template } of lists) {
        assert.deepStrictEqual((yield* other.get(template)).data, [], template)
        const page = yield* tenant.get(`${template}?limit=1`)
        assert.lengthOf(page.data, 1)
        const cursor = encodeURIComponent(page.next_cursor)
        const from = template === "/v1/events" ? "after" : "cursor"
        const answer = yield* other.send({ path: `${template}?limit=100&${from}=${cursor}` })
        if (answer.status === 200) assert.deepStrictEqual(JSON.parse(answer.body).data, [])
        else assert.strictEqual(answer.status, 400)
      }
      const bySubject = yield* other.get(`/v1/mandates?subject_reference=${SUBJECT}`)
      assert.deepStrictEqual(bySubject.data, [])
    })
  )
})

describe("two organizations", () => {
  it.live("can use the same idempotency key and body for two mandates", () =>
    Effect.gen(function* () {
      const { tenant, other } = yield* startService()
      const body = yield* tenant.mandateBody()
      const answers = yield* Effect.forEach([tenant, other, tenant, other], (one) =>
        one.write("POST", "/v1/mandates", body, "same-key")
      )
      const ids = answers.map((answer) => bodyOf(answer, 201).id)
      assert.notStrictEqual(ids[0], ids[1])
      assert.deepStrictEqual(ids.slice(2), ids.slice(0, 2))
      assert.deepStrictEqual(
        answers.map(({ headers }) => headers["idempotency-replayed"]),
        [undefined, undefined, "true", "true"]
      )
      const conflict = yield* other.write("POST", "/v1/mandates", { ...body, description: "x" }, "same-key")
      assert.strictEqual(bodyOf(conflict, 409).code, "idempotency_key_reused")
    })
  )

  it.live("can use the same commitment", () =>
    Effect.gen(function* () {
      const { tenant, other } = yield* startService()
      const { commitment, opening } = drawCommitment()
      for (const one of [tenant, other]) {
        const { id } = yield* one.activeMandate(RECURRING)
        const path = `/v1/mandates/${id}/authorizations`
        const authorization = bodyOf(yield* one.write("POST", path, one.proposalBody({ commitment })), 201)
        assert.strictEqual(authorization.decision, "ALLOW")
        const again = yield* one.write("POST", path, one.proposalBody({ commitment }))
        assert.strictEqual(bodyOf(again, 409).code, "commitment_reused")
        bodyOf(yield* one.commit({ id: authorization.id, opening }), 200)
      }
    })
  )

  it.live("can use the same jti", () =>
    Effect.gen(function* () {
      const { tenant, other } = yield* startService()
      for (const one of [tenant, other]) {
        const { id } = yield* one.newMandate()
        const open = Effect.gen(function* () {
          const identity_assertion = yield* one.assertionFor({ jti: "the same" })
          const body = yield* one.sessionBody({ identity_assertion })
          return yield* one.write("POST", `/v1/mandates/${id}/approval-sessions`, body)
        })
        bodyOf(yield* open, 201)
        assert.strictEqual(bodyOf(yield* open, 409).code, "assertion_replayed")
      }
    })
  )

  it.live("have different passkeys for the same subject reference", () =>
    Effect.gen(function* () {
      const { newBrowser, other, tenant } = yield* startService()
      const browser = newBrowser()
      const first = yield* tenant.openSession((yield* tenant.newMandate()).id)
      const { options: ours } = yield* browser.ceremony(first.path)
      bodyOf(yield* browser.post(`${first.path}/passkey`, browser.passkey.register(ours)), 201)
      bodyOf(yield* browser.approve(first.path), 200)
      const mandate = yield* other.newMandate()
      const second = yield* other.openSession(mandate.id)
      const { options, step } = yield* browser.ceremony(second.path)
      assert.strictEqual(step, "register")
      assert.notStrictEqual(options.user.id, ours.user.id)
      const assertion = browser.passkey.authenticate({ challenge: options.challenge, rpId: options.rp.id })
      const refused = yield* browser.post(`${second.path}/approval`, assertion)
      assert.strictEqual(bodyOf(refused, 422).code, "passkey_verification_failed")
      assert.strictEqual((yield* other.get(`/v1/mandates/${mandate.id}`)).state, "PENDING_APPROVAL")
      assert.deepStrictEqual((yield* other.get(`/v1/subjects/${SUBJECT}/passkeys`)).data, [])
    })
  )
})
