import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonValue } from "@svc/protocol/json/Json"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Effect } from "effect"
import type { ListedRoute } from "./RouteList.ts"
import { sampleOf } from "./SampleValue.ts"
import { APPROVAL_ORIGIN, drawCommitment, type Service, SUBJECT } from "./ServiceUnderTest.ts"

const ABSENT = "00000000000000000000000000"
const CHALLENGE = encodeBase64Url(new Uint8Array(32))

/** A session that a browser has begun: its path, and the cookie header of that browser. */
const beginSession = Effect.fnUntraced(function* ({ tenant, newBrowser }: Service) {
  const mandate = yield* tenant.newMandate()
  const session = yield* tenant.openSession(mandate.id)
  const browser = newBrowser()
  yield* browser.ceremony(session.path)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
  return { ...session, cookie }
})

const spendSession = Effect.fnUntraced(function* ({ tenant, newBrowser }: Service) {
  const mandate = yield* tenant.newMandate()
  const session = yield* tenant.openSession(mandate.id)
  const browser = newBrowser()
  yield* browser.ceremony(session.path)
  yield* browser.post(`${session.path}/decline`, {})
  return session
})

/** Responses of an authenticator that never saw the challenge: in form, they are right. */
const passkeyResponses = () => {
  const passkey = makeSoftwarePasskey({ origin: APPROVAL_ORIGIN })
  const { hostname } = new URL(APPROVAL_ORIGIN)
  const registration = passkey.register({
    challenge: CHALLENGE,
    rp: { id: hostname },
    user: { id: CHALLENGE },
    pubKeyCredParams: [{ alg: -7 }]
  })
  const assertion = passkey.authenticate({ challenge: CHALLENGE, rpId: hostname })
  return { registration, assertion }
}

/**
 * What valid requests name and carry: mandates, authorizations and sessions in every state. A request that succeeded
 * may have changed one of them; `repair` makes it anew.
 */
export const makeWorld = Effect.fnUntraced(function* (service: Service) {
  const { tenant, other } = service
  const responses = passkeyResponses()
  const passkeySubject = "user_with_passkey"
  const makeStanding = Effect.gen(function* () {
    const standing = yield* tenant.activeMandate({
      kind: "RECURRING",
      subject_reference: passkeySubject,
      policy: {
        currency: "EUR",
        max_amount: 5000,
        allowed_actions: ["card.create"],
        periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_executions: 100_000 }]
      }
    })
    const committed = yield* tenant.propose(standing.id)
    yield* tenant.commit(committed)
    return {
      pending: yield* tenant.newMandate(),
      standing,
      committed,
      reserved: yield* tenant.propose(standing.id),
      denied: yield* tenant.propose(standing.id, 6000)
    }
  })
  const revoked = yield* tenant.newMandate()
  yield* tenant.write("PUT", `/v1/mandates/${revoked.id}/revocation`, { reason: "lost" })
  const foreign = yield* other.newMandate()
  const foreignAuthorization = yield* other.propose(foreign.id)
  const { id: retired } = (yield* makeStanding).standing
  const passkeys = yield* tenant.get(`/v1/subjects/${passkeySubject}/passkeys`)
  const world = {
    ...(yield* makeStanding),
    bound: yield* beginSession(service),
    open: yield* tenant.openSession((yield* tenant.newMandate()).id),
    spent: yield* spendSession(service)
  }

  /** Values of each parameter; the first ones are there, the others are not, or are none. */
  const valuesOf = (name: string): ReadonlyArray<string> => {
    switch (name) {
      case "mandate_id":
        return [
          world.standing.id,
          world.pending.id,
          world.standing.id,
          revoked.id,
          foreign.id,
          retired,
          `mnd_${ABSENT}`,
          world.standing.id.toUpperCase(),
          "mnd_x",
          "\u{1f600}",
          "__proto__"
        ]
      case "authorization_id":
        return [
          world.reserved.id,
          world.committed.id,
          world.reserved.id,
          world.denied.id,
          foreignAuthorization.id,
          `aut_${ABSENT}`,
          world.standing.id,
          "constructor"
        ]
      case "subject_reference":
        return [passkeySubject, SUBJECT, "a/b", "\u{1f600}".repeat(255), "a".repeat(256), "\u0000", "a;b#c"]
      case "passkey_id":
        return [`psk_${ABSENT}`, passkeys.data[0].id.toUpperCase(), "psk_x"]
      case "token":
        return [
          world.bound.token,
          world.bound.token,
          world.open.token,
          world.spent.token,
          CHALLENGE,
          `${world.open.token}A`,
          "%",
          "x"
        ]
      default:
        return [`${name.slice(0, 3)}_${ABSENT}`, "x"]
    }
  }

  /** A body that the route takes, or for a route that is not known here one of about its shape. */
  const bodyFor = Effect.fnUntraced(function* ({ method, template, payload, rule }: ListedRoute) {
    switch (`${method} ${template}`) {
      case "POST /v1/mandates":
        return (yield* tenant.mandateBody()) as JsonValue
      case "PUT /v1/mandates/{mandate_id}/revocation":
        return { reason: "lost" }
      case "POST /v1/mandates/{mandate_id}/approval-sessions":
        return (yield* tenant.sessionBody()) as JsonValue
      case "POST /v1/mandates/{mandate_id}/authorizations":
        return tenant.proposalBody() as JsonValue
      case "PUT /v1/authorizations/{authorization_id}/commit":
        return (yield* tenant.commitBody(world.reserved.opening)) as JsonValue
      case "PUT /v1/authorizations/{authorization_id}/cancellation":
        return { reason: "CALLER_ABORTED", execution_disposition: "NEVER_BECAME_POSSIBLE" }
      case "POST /approve/{token}/passkey":
        return responses.registration as unknown as JsonValue
      case "POST /approve/{token}/approval":
        return responses.assertion as unknown as JsonValue
      default:
        return payload === undefined || rule.body !== "members" ? {} : sampleOf(payload)
    }
  })

  const repair = Effect.fnUntraced(function* ({ template }: ListedRoute) {
    if (template.startsWith("/approve/")) {
      world.bound = yield* beginSession(service)
      world.open = yield* tenant.openSession((yield* tenant.newMandate()).id)
    } else if (template.endsWith("/revocation")) Object.assign(world, yield* makeStanding)
    else if (template.startsWith("/v1/authorizations/")) {
      world.reserved = yield* tenant.propose(world.standing.id)
    }
  })

  const keys = {
    valid: tenant.key,
    reader: yield* tenant.makeKey({ scopes: ["read"] }),
    webhooks: yield* tenant.makeKey({ scopes: ["webhooks"] }),
    revoked: yield* tenant.makeKey({ revokedAt: "2026-01-02T00:00:00Z" }),
    live: tenant.key.replace("svc_test_", "svc_live_"),
    unknown: `svc_test_${drawCommitment().opening}`,
    other: other.key
  }

  return {
    keys,
    valuesOf,
    bodyFor,
    repair,
    cookie: () => world.bound.cookie,
    /** What no answer to a refused request may hold. */
    secrets: () => [
      ...Object.values(keys),
      world.bound.token,
      world.open.token,
      world.spent.token,
      world.bound.cookie.split("=")[1]!,
      world.bound.body.return_state,
      world.bound.body.identity_assertion.split(".")[2]!,
      world.reserved.opening,
      world.committed.opening
    ]
  }
})

export type World = Effect.Success<ReturnType<typeof makeWorld>>
