import { assert, describe, it } from "@effect/vitest"
import { IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import { Effect, Fiber } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { makeShop } from "../test/Shop.ts"
import { hostIdentityLayer, type Identify, identityOfHost } from "./HostIdentity.ts"
import { authenticationOf } from "./ServiceApp.ts"

const verifyBy = (identify: unknown) =>
  IdentityVerifier.use(({ verify }) =>
    verify({ organization: "org_1", assertion: "session", settings: identityOfHost("shop"), now: 0n })
  ).pipe(Effect.provide(hostIdentityLayer(identify as Identify)))

describe("a function of the host", () => {
  it.effect("that does not resolve is not waited for without end: identify", () =>
    Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(Effect.flip(verifyBy(() => new Promise(() => {}))))
      yield* TestClock.adjust("10 seconds")
      const { _tag } = yield* Fiber.join(waiting)
      assert.strictEqual(_tag, "IdentityKeysUnavailable")
    })
  )

  it.effect("that does not resolve is not waited for without end: authenticate", () =>
    Effect.gen(function* () {
      const { serviceOptions } = makeShop({ authenticate: () => new Promise(() => {}) })
      const request = HttpServerRequest.fromWeb(new Request("http://localhost:3000/mandates/v1/mandates"))
      const waiting = yield* Effect.forkChild(Effect.flip(authenticationOf(serviceOptions)!(request)))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "StoreUnavailable")
    })
  )

  it.effect("lets users enrol by true alone", () =>
    Effect.gen(function* () {
      for (const enrolmentAllowed of [true, false, undefined])
        assert.strictEqual(
          (yield* verifyBy(async () => ({ subject: "user_1", enrolmentAllowed }))).enrolmentAllowed,
          enrolmentAllowed === true
        )
      for (const enrolmentAllowed of ["false", "no", 1, {}, null]) {
        const exit = yield* Effect.exit(verifyBy(async () => ({ subject: "user_1", enrolmentAllowed })))
        assert.strictEqual(exit._tag, "Failure")
      }
    })
  )
})
