import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import { approveMandate } from "@svc/domain/programs/ceremony/ApproveMandate"
import { beginCeremony } from "@svc/domain/programs/ceremony/BeginCeremony"
import { declineMandate } from "@svc/domain/programs/ceremony/DeclineMandate"
import { registerPasskey } from "@svc/domain/programs/ceremony/RegisterPasskey"
import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import { Effect, Redacted } from "effect"
import { authenticateWith, makeAssertion, newDevice, registerWith } from "../server/CheapCrypto.ts"
import { MILLISECOND, MINUTE, type Micros, SECOND } from "../time/Micros.ts"
import { newWrite, pickRecent, rest, type Stage, sendKeyed } from "./Actor.ts"

const NANOS_PER_MICRO = 1000n

const assertionOf = ({ random, time }: Stage, subject: string, enrol: boolean): string =>
  makeAssertion({
    subject,
    jti: `jti-${random.integer(0, 2 ** 32 - 1)}-${random.integer(0, 2 ** 32 - 1)}`,
    expiresAt: BigInt(time.now + 5 * MINUTE) * NANOS_PER_MICRO,
    enrol
  })

/** The assertion that was used last, to be used once more. */
const used = new WeakMap<object, string>()

const openSession = Effect.fnUntraced(function* (
  stage: Stage,
  mandate: { readonly id: string; readonly subject: string }
) {
  const { random, rare, tenant } = stage
  const again = random.chance(0.03) ? used.get(tenant) : undefined
  const identity_assertion = again ?? assertionOf(stage, mandate.subject, random.chance(0.5))
  used.set(tenant, identity_assertion)
  const write = newWrite(stage, {
    identity_assertion,
    return_url: "https://shop.example/return",
    return_state: "state of sixteen characters"
  })
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "open an approval session",
    about: mandate.id,
    isWrite: true,
    program: createApprovalSession({ ...write, mandateId: mandate.id })
  })
  if (outcome._tag === "Refused" && outcome.refusal._tag === "AssertionReplayed")
    rare.count("assertion used again")
  return outcome._tag === "Done" ? outcome.value.resource : undefined
})

/** Until about the end of a session. */
const lastMoment = ({ random, time }: Stage, session: { readonly expires_at: string }): Micros =>
  Date.parse(session.expires_at) * MILLISECOND - time.now + random.integer(-10 * MILLISECOND, 20 * SECOND)

const deviceOf = ({ random, tenant }: Stage, subject: string) => {
  const device = tenant.devices.get(subject) ?? newDevice(random)
  tenant.devices.set(subject, device)
  return device
}

/** A user's way through the approval page, in one browser. */
const approve = Effect.fnUntraced(function* (
  stage: Stage,
  mandate: { readonly id: string; readonly subject: string },
  session: { readonly id: string; readonly approval_url?: string; readonly expires_at: string }
) {
  const { audit, client, random } = stage
  const about = mandate.id
  const token = Redacted.make((session.approval_url ?? "").split("/").at(-1) ?? "")
  let cookie: Redacted.Redacted<string> | undefined
  for (let tries = 0; tries < 4; tries++) {
    const begun = yield* client.ask({
      what: "begin the ceremony",
      about,
      isWrite: true,
      program: beginCeremony({ token, cookie, language: "en" })
    })
    if (begun._tag !== "Done") return
    const { bind, options, step } = begun.value
    cookie ??= bind?.cookie
    const bearer = { token, cookie }
    yield* client.sleep(
      random.chance(0.08) ? lastMoment(stage, session) : random.integer(1, 20 * MILLISECOND)
    )
    if (random.chance(0.05)) {
      yield* client.ask({ what: "decline", about, isWrite: true, program: declineMandate(bearer) })
      return
    }
    if (step === "register") {
      const device = newDevice(random)
      stage.tenant.devices.set(mandate.subject, device)
      const program = registerPasskey({ ...bearer, body: registerWith(device, options) })
      yield* client.ask({ what: "register a passkey", about, isWrite: true, program })
      continue
    }
    const body = authenticateWith(deviceOf(stage, mandate.subject), options)
    const program = approveMandate({ ...bearer, body })
    const isUnderWay = Effect.sync(() => audit.mandates.sessions.approving.add(session.id))
    const asked = client.ask({ what: "approve", about, isWrite: true, program })
    const rivals = [openSession(stage, mandate), openSession(stage, mandate), retire(stage)]
    const hasRival = random.chance(0.7)
    const rival = hasRival
      ? Effect.andThen(client.sleep(random.integer(1, 3 * MILLISECOND)), random.pick(rivals))
      : Effect.void
    const approval = client
      .sleep(hasRival ? random.integer(1, 5 * MILLISECOND) : 1)
      .pipe(Effect.andThen(isUnderWay), Effect.andThen(asked))
    const [approved] = yield* Effect.all([approval, rival], { concurrency: "unbounded" })
    audit.mandates.sessions.approving.delete(session.id)
    if (approved._tag === "Done") {
      const hasApproval = audit.mandates
        .counted(mandate.id)
        ?.events.some(({ type }) => type === "mandate.approved")
      const isLost = audit.mandates.losses > 0
      audit.findings.check("acknowledged: approvals", hasApproval === true || isLost, mandate.id)
      return
    }
  }
})

const retire = Effect.fnUntraced(function* ({ client, random, tenant }: Stage) {
  const subjectReference = random.pick(tenant.subjects)
  const subject = { organization: tenant.organization.id, subjectReference }
  const listed = yield* client.ask({
    what: "list passkeys",
    about: tenant.organization.id,
    isWrite: false,
    program: listPasskeys({ ...subject, limit: 10 })
  })
  const passkey = listed._tag === "Done" ? listed.value.data[0] : undefined
  if (passkey === undefined) return
  yield* client.ask({
    what: "retire a passkey",
    about: tenant.organization.id,
    isWrite: true,
    program: retirePasskey({ ...subject, passkeyId: passkey.id })
  })
})

/** A user of an organization who answers mandates until the run is over. */
export const approver = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, random, tenant } = stage
  while (!stage.isOver()) {
    yield* rest(stage)
    const pending = tenant.mandates.filter(
      ({ id }) => audit.mandates.counted(id)?.state === "PENDING_APPROVAL"
    )
    const mandate = pickRecent(stage, random.chance(0.95) ? pending : tenant.mandates)
    if (random.chance(0.04)) yield* retire(stage)
    if (mandate === undefined) continue
    const session = yield* openSession(stage, mandate)
    if (session === undefined) continue
    yield* approve(stage, mandate, session)
  }
})
