/** A body for each request that has one, as `requestBody` shows it: accepted as it stands once its references are yours. */
export const REQUEST_EXAMPLES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  createMandate: {
    kind: "RECURRING",
    subject_reference: "user_8f2",
    description: "Monthly books",
    policy: {
      currency: "EUR",
      max_amount: 5000,
      allowed_actions: ["card.create"],
      allowed_merchants: ["mrc_42"],
      periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20000 }]
    },
    window: { ends_at: "2030-01-01T00:00:00Z" }
  },
  revokeMandate: { reason: "The user closed the account." },
  createApprovalSession: {
    identity_assertion: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c2VyXzhmMiJ9.c2lnbmF0dXJl",
    return_url: "https://shop.example/return",
    return_state: "Yk3vO8mC2sQ1tZ7wRb5n"
  },
  createAuthorization: {
    external_reference: "order-1",
    proposed_action: {
      action: "card.create",
      attributes: { merchant: "mrc_42" },
      payment: { amount: 4200, currency: "EUR" }
    },
    execution_window_seconds: 900,
    commitment: "cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E"
  },
  commitAuthorization: {
    external_action_reference: "order-1",
    provider_transaction_reference: "txn_7001",
    reported_accepted_at: "2026-12-01T09:05:00Z",
    commitment_opening: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
  },
  cancelAuthorization: {
    reason: "EXECUTOR_REJECTED",
    execution_disposition: "NEVER_BECAME_POSSIBLE"
  },
  reportRefund: {
    amount: 1200,
    currency: "EUR",
    provider_refund_reference: "rfd_90",
    reported_refunded_at: "2026-12-02T10:00:00Z"
  },
  createWebhookEndpoint: {
    url: "https://shop.example/webhooks",
    event_types: ["mandate.approved", "authorization.expired"],
    description: "Orders"
  }
}
