import type { FuzzTarget } from "./FuzzTarget.ts"

/** What is fuzzed, by name. Each is loaded when it is its turn. */
export const TARGETS: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  "strict-json": async () => (await import("./targets/Json.ts")).strictJson,
  "canonical-json": async () => (await import("./targets/Json.ts")).canonical,
  timestamps: async () => (await import("./targets/Values.ts")).timestamps,
  money: async () => (await import("./targets/Values.ts")).money,
  identifiers: async () => (await import("./targets/Values.ts")).identifiers,
  base64url: async () => (await import("./targets/Values.ts")).base64url,
  cursors: async () => (await import("./targets/Values.ts")).cursors,
  "webhook-targets": async () => (await import("./targets/Values.ts")).webhookTargets,
  "webhook-signatures": async () => (await import("./targets/Headers.ts")).webhookSignatures,
  "request-headers": async () => (await import("./targets/Headers.ts")).requestHeaders,
  policies: async () => (await import("./targets/Policies.ts")).policies,
  "identity-assertions": async () => (await import("./targets/Identity.ts")).identityAssertions,
  "passkey-registrations": async () => (await import("./targets/Passkeys.ts")).passkeyRegistrations,
  "passkey-assertions": async () => (await import("./targets/Passkeys.ts")).passkeyAssertions,
  "evidence-envelopes": async () => (await import("./targets/Evidence.ts")).evidenceEnvelopes,
  "evidence-payloads": async () => (await import("./targets/Evidence.ts")).evidencePayloads,
  "http-edge": async () => (await import("./targets/HttpEdge.ts")).httpEdge
}
