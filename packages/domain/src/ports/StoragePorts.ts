import type { DueLeases } from "./DueLeases.ts"
import type { EventFeed } from "./EventFeed.ts"
import type { MandateStore } from "./MandateStore.ts"
import type { Organizations } from "./Organizations.ts"
import type { StoreCleaning } from "./StoreCleaning.ts"
import type { StoreHealth } from "./StoreHealth.ts"
import type { SubjectStore } from "./SubjectStore.ts"
import type { WebhookStore } from "./WebhookStore.ts"

/** What every store serves, and what `storeContract` of the testkit holds it to. */
export type StoragePorts =
  | MandateStore
  | EventFeed
  | SubjectStore
  | Organizations
  | DueLeases
  | WebhookStore
  | StoreHealth
  | StoreCleaning
