/**
 * What the service cannot do for its caller. Each text appears in the introduction of the reference, in
 * docs/caller-duties.md, and in the description of the member, header or operation that it is about.
 */
export const CALLER_DUTIES = {
  opaqueSubject:
    "Put no personal data into it: no name, e-mail address, phone number or account number, but an opaque identifier that means something to you alone.",
  unpredictableState:
    "Draw it anew for each session from a cryptographic random source, and compare it when the user comes back.",
  keysOnServers:
    "Keep API keys on your servers alone: never in a browser, an app, a repository or a prompt of an agent.",
  secretApprovalUrl:
    "Redirect the user's browser to it from your backend, and never log it, mail it, store it in a browser or pass it to analytics: whoever holds it can open the approval.",
  executionGate:
    "Execute only while the latest representation has decision ALLOW, state RESERVED and can_execute true: neither the HTTP status nor one of these members alone is enough.",
  executionDeadline:
    "Execute before execute_before; when execution starts later or elsewhere, see to it that nothing can act after that instant.",
  conflictIsIncident:
    "Treat a conflicting terminal report (409 terminal_state_conflict) as an incident: stop, read the authorization, and reconcile it with your provider.",
  evidenceIsIncident:
    "Treat evidence that fails verification as a security incident, and keep the original envelope, byte for byte.",
  deduplicateById:
    "Deduplicate webhooks by id: the same event may arrive more than once, and in another order.",
  triggerNotProof:
    "Take a webhook for a trigger, not for a proof: verify its signature, then read what it names with your API key."
} as const
