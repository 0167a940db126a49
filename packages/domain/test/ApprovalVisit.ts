/** A user's way through an approval, step by step, with a device and a backend of their own. */
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { harnessOrganization, makeCaller, singleBody } from "@svc/testkit/ProgramHarness"
import { makeSoftwarePasskey } from "@svc/testkit/SoftwarePasskey"
import { Effect, Layer, Redacted } from "effect"
import type { Organization } from "../src/organization/Organization.ts"
import { MandateStore, type StreamChange } from "../src/ports/MandateStore.ts"
import { Organizations } from "../src/ports/Organizations.ts"
import { createApprovalSession } from "../src/programs/ApprovalSessions.ts"
import { approveMandate } from "../src/programs/ceremony/ApproveMandate.ts"
import { beginCeremony } from "../src/programs/ceremony/BeginCeremony.ts"
import { registerPasskey } from "../src/programs/ceremony/RegisterPasskey.ts"
import { fromTheStart } from "./MemoryPrograms.ts"

export const issuer = makeIdentityIssuer({ issuer: "https://id.example", audience: "svc" })

export const newDevice = () => makeSoftwarePasskey({ origin: "https://approve.svc.test" })
export type Device = ReturnType<typeof newDevice>

/** A device whose credentials follow from a seed: two of one seed make the same. */
export const deviceWithCredential = (seed: number): Device => {
  let drawn = seed
  const random = (count: number) => new Uint8Array(count).map(() => (drawn++ * 7 + 13) % 251)
  return makeSoftwarePasskey({ origin: "https://approve.svc.test", random })
}

export const callerOf = (parts: Partial<Organization> = {}) =>
  makeCaller(
    harnessOrganization({
      identity: {
        issuer: issuer.issuer,
        audience: issuer.audience,
        algorithms: ["ES256"],
        keys: { jwks: issuer.publicJwks }
      },
      ...parts
    })
  )

export type IdentifiedCaller = ReturnType<typeof callerOf>

/** The store, and every change that it is given to append. */
export const watchedAppends = Effect.map(MandateStore, (store) => {
  const changes: Array<StreamChange> = []
  const layer = Layer.succeed(MandateStore, {
    ...store,
    append: (change) =>
      Effect.suspend(() => {
        changes.push(change)
        return store.append(change)
      })
  })
  return { changes, layer }
})

/** Makes the organization known and a mandate that waits for approval. */
export const pendingMandate = Effect.fnUntraced(function* (caller: IdentifiedCaller, parts: JsonObject = {}) {
  const organizations = yield* Organizations
  yield* organizations.put(caller.organization)
  const { resource } = yield* caller.create(singleBody({}, parts))
  return resource.id as string
})

export const newPendingMandate = Effect.fnUntraced(function* (caller: IdentifiedCaller) {
  yield* fromTheStart
  return yield* pendingMandate(caller)
})

export const assertionFor = Effect.fnUntraced(function* (
  parts: Partial<Parameters<typeof issuer.assertion>[0]> = {}
) {
  const store = yield* MandateStore
  const { now } = yield* store.load({ organization: "org_01jdxxxxxxxxxxxxxxxxxxxxxx" })
  return yield* Effect.promise(() => issuer.assertion({ subject: "user_8f2", now, ...parts }))
})

export const sessionBody = (identity_assertion: string, parts: JsonObject = {}): JsonObject => ({
  identity_assertion,
  return_url: "https://shop.example/return?a=1#top",
  return_state: "state of sixteen characters",
  ...parts
})

export const openSession = Effect.fnUntraced(function* (
  caller: IdentifiedCaller,
  mandateId: string,
  parts: Partial<Parameters<typeof issuer.assertion>[0]> = {},
  key?: string
) {
  const body = sessionBody(yield* assertionFor(parts))
  return (yield* createApprovalSession({ ...caller.write(body, key), mandateId })).resource
})

export const tokenOf = (session: { readonly approval_url?: string }): Redacted.Redacted<string> =>
  Redacted.make((session.approval_url ?? "").split("/").at(-1) ?? "")

/** A browser with the token of a session; it keeps the cookie that it is given. */
export const browserOf = (session: { readonly approval_url?: string }) => {
  const token = tokenOf(session)
  let cookie: Redacted.Redacted<string> | undefined
  return {
    token,
    bearer: () => ({ token, cookie }),
    ceremony: () =>
      Effect.map(beginCeremony({ token, cookie, language: "en" }), (step) => {
        cookie ??= step.bind?.cookie
        return step
      }),
    register: (body: unknown) => registerPasskey({ token, cookie, body: body as JsonValue }),
    approve: (body: unknown) => approveMandate({ token, cookie, body: body as JsonValue })
  }
}

/** Goes all the way, with a new passkey where the subject has none. */
export const approveWith = Effect.fnUntraced(function* (
  session: { readonly approval_url?: string },
  device: Device
) {
  const browser = browserOf(session)
  let step = yield* browser.ceremony()
  if (step.step === "register") {
    yield* browser.register(device.register(step.options as never))
    step = yield* browser.ceremony()
  }
  return yield* browser.approve(device.authenticate(step.options as never))
})

/** A mandate, an open session, and a device whose passkey the subject already has. */
export const enrolledWith = Effect.fnUntraced(function* (caller: IdentifiedCaller, device: Device) {
  const first = yield* newPendingMandate(caller)
  yield* approveWith(yield* openSession(caller, first), device)
  const mandate = yield* pendingMandate(caller)
  const session = yield* openSession(caller, mandate)
  return { device, mandate, session, browser: browserOf(session) }
})

export const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)
