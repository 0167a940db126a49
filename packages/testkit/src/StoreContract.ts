import { layer } from "@effect/vitest"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { Layer } from "effect"
import { TestClock } from "effect/testing"
import { appendContract } from "./store-contract/AppendContract.ts"
import { claimContract } from "./store-contract/ClaimContract.ts"
import { cleaningContract } from "./store-contract/CleaningContract.ts"
import { concurrencyContract } from "./store-contract/ConcurrencyContract.ts"
import { dueContract } from "./store-contract/DueContract.ts"
import { feedContract } from "./store-contract/FeedContract.ts"
import { fidelityContract } from "./store-contract/FidelityContract.ts"
import { healthContract } from "./store-contract/HealthContract.ts"
import { journalContract } from "./store-contract/JournalContract.ts"
import { leaseContract } from "./store-contract/LeaseContract.ts"
import { listContract } from "./store-contract/ListContract.ts"
import { loadContract } from "./store-contract/LoadContract.ts"
import { notificationContract } from "./store-contract/NotificationContract.ts"
import { organizationContract } from "./store-contract/OrganizationContract.ts"
import { sessionContract } from "./store-contract/SessionContract.ts"
import type { StoreClock } from "./store-contract/StoreUnderTest.ts"
import { subjectContract } from "./store-contract/SubjectContract.ts"
import { tenantContract } from "./store-contract/TenantContract.ts"
import { webhookContract } from "./store-contract/WebhookContract.ts"
import { webhookDeliveryContract } from "./store-contract/WebhookDeliveryContract.ts"

/** 2026-01-01T00:00:00Z, where a test clock starts: timestamps before the year 2000 are not readable. */
const START_MILLISECONDS = 1_767_225_600_000

/** Longest that a store may take to come up and to shut down. */
const START_TIMEOUT = "120 seconds"

/**
 * Registers the tests that every implementation of the storage ports must pass. The layer is built once for
 * all of them; each test keeps to organizations of its own, so the store need not be empty, but while the
 * tests run nobody else may write to it.
 *
 * `clock` says what the store's clock is: Effect's, then the tests drive it with `TestClock`, or a live one
 * (a database's), then they are content with instants far enough from now, and skip what needs exact ones.
 */
export const storeContract = <E>(
  name: string,
  store: () => Layer.Layer<StoragePorts, E>,
  options: { readonly clock: StoreClock }
): void => {
  const { clock } = options
  const started =
    clock === "live"
      ? store()
      : store().pipe(Layer.provideMerge(Layer.effectDiscard(TestClock.setTime(START_MILLISECONDS))))
  layer(started, { excludeTestServices: clock === "live", timeout: START_TIMEOUT })(
    `${name}: storage contract, ${clock} clock`,
    (it) => {
      appendContract(it, clock)
      concurrencyContract(it)
      claimContract(it, clock)
      loadContract(it, clock)
      fidelityContract(it)
      sessionContract(it)
      subjectContract(it)
      listContract(it)
      dueContract(it, clock)
      leaseContract(it, clock)
      journalContract(it)
      feedContract(it)
      webhookContract(it, clock)
      notificationContract(it)
      webhookDeliveryContract(it)
      cleaningContract(it)
      organizationContract(it)
      tenantContract(it)
      healthContract(it)
    }
  )
}

/**
 * Registers the tests of the contract that hold what an append, a load and the look-up of an API key do, for a store that
 * does those in another way and whose other operations have been tested already. The clock is a live one.
 */
export const sharedStoreContract = <E>(name: string, store: () => Layer.Layer<StoragePorts, E>): void => {
  layer(store(), { excludeTestServices: true, timeout: START_TIMEOUT })(
    `${name}: storage contract of appends and loads, live clock`,
    (it) => {
      loadContract(it, "live")
      organizationContract(it)
      tenantContract(it)
      appendContract(it, "live")
      concurrencyContract(it)
      claimContract(it, "live")
      fidelityContract(it)
      subjectContract(it)
      journalContract(it)
      webhookContract(it, "live")
      notificationContract(it)
    }
  )
}
