import type { Calls } from "svc"

/** Takes a mandate back, and waits a while for a store that is away. */
export const revokePatiently = (shop: Calls, mandate: string) =>
  shop.mandates.revoke(
    mandate,
    { reason: "the user closed the account" },
    { idempotencyKey: `close-${mandate}`, retries: 2, timeout: 5000 }
  )
