import { assert, describe, it } from "@effect/vitest"
import { newPasskey } from "@svc/testkit/StoreFixtures"
import { Redacted } from "effect"
import {
  after,
  approve,
  at,
  CREATED,
  created,
  DEADLINE,
  HOUR,
  MINUTE,
  recurring,
  revoke,
  SECOND
} from "../../test/MandateStory.ts"
import type { ApprovalSessionState } from "./ApprovalSessionState.ts"
import { secretHash } from "./BearerSecret.ts"
import { closedCause } from "./ClosedCause.ts"
import {
  decidedSession,
  isBoundBrowser,
  sessionExpiry,
  sessionStateAt,
  supersededBy
} from "./SessionLifecycle.ts"

const cookie = Redacted.make("cookie")
const expiresAt = CREATED + 5n * MINUTE
const open: ApprovalSessionState = {
  id: "aps_1",
  organizationId: "org_1",
  mandateId: "mnd_1",
  subjectReference: "user_8f2",
  state: "OPEN",
  createdAt: CREATED,
  expiresAt,
  tokenHash: "token",
  sealedToken: "sealed",
  returnUrl: "https://shop.example/return",
  returnState: "state",
  enrolment: "FIRST_USE",
  identity: { issuer: "https://id.example", jti: "1", assertionSha256: "hash" },
  boundTo: secretHash(cookie),
  challenge: { step: "register", challenge: "challenge" },
  provisionalPasskey: newPasskey()
}

const pending = created(recurring())
const { mandate } = pending.stream
const approved = after(pending, approve, CREATED + SECOND).stream.mandate

describe("an approval session (part 6)", () => {
  it("is open for five minutes, and never after the mandate's deadline", () => {
    assert.strictEqual(sessionExpiry(CREATED, DEADLINE), expiresAt)
    assert.strictEqual(sessionExpiry(DEADLINE - 5n * MINUTE + 1n, DEADLINE), DEADLINE)
  })

  it("is shown as expired from its end, or once its mandate awaits no approval, unless it has ended otherwise", () => {
    assert.strictEqual(sessionStateAt(open, mandate, expiresAt - 1n), "OPEN")
    assert.strictEqual(sessionStateAt(open, mandate, expiresAt), "EXPIRED")
    assert.strictEqual(sessionStateAt(open, approved, CREATED + MINUTE), "EXPIRED")
    assert.strictEqual(sessionStateAt({ ...open, state: "COMPLETED" }, approved, expiresAt), "COMPLETED")
  })

  it("supersedes the mandate's last one while that is open", () => {
    assert.deepStrictEqual(supersededBy(open, expiresAt - 1n), [{ ...open, state: "SUPERSEDED" }])
    assert.deepStrictEqual(supersededBy(open, expiresAt), [])
    assert.deepStrictEqual(supersededBy({ ...open, state: "REJECTED" }, CREATED), [])
    assert.deepStrictEqual(supersededBy(undefined, CREATED), [])
  })

  it("keeps neither a challenge nor a provisional passkey once it is decided", () => {
    const { challenge: _, provisionalPasskey: __, ...rest } = open
    assert.deepStrictEqual(decidedSession(open, "COMPLETED"), { ...rest, state: "COMPLETED" })
  })

  it("is bound to the browser that has its cookie", () => {
    assert.isTrue(isBoundBrowser(open, cookie))
    assert.isFalse(isBoundBrowser(open, Redacted.make("another")))
    const { boundTo: _, ...unbound } = open
    assert.isFalse(isBoundBrowser(unbound, cookie))
    assert.isFalse(isBoundBrowser(unbound, undefined))
  })
})

describe("a closed link", () => {
  const revokedAt = (instant: bigint) => after(pending, revoke(), instant).stream.mandate
  it.each([
    ["COMPLETED", mandate, "approved", "used"],
    ["REJECTED", mandate, "declined", "used"],
    ["SUPERSEDED", mandate, "replaced", "replaced"],
    ["OPEN", mandate, "expired", "expired"],
    ["OPEN", approved, "expired", "expired"],
    ["OPEN", revokedAt(expiresAt - 1n), "withdrawn", "withdrawn"],
    ["OPEN", revokedAt(expiresAt), "expired", "expired"],
    ["OPEN", revokedAt(CREATED + HOUR), "expired", "expired"]
  ] as const)(
    "of a session that is %s tells its own browser why, and others no decision",
    (state, of, own, others) => {
      const session = { ...open, state }
      assert.deepStrictEqual([closedCause(session, of, true), closedCause(session, of, false)], [own, others])
    }
  )

  it("of a mandate that has expired is expired, even while its session was open", () => {
    const endedAt = "2026-11-28T09:01:00.000000000Z"
    assert.isTrue(at(endedAt) < expiresAt)
    assert.strictEqual(closedCause(open, { ...mandate, state: "EXPIRED", endedAt }, true), "expired")
  })
})
