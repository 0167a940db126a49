export { compareEvidence, type EvidenceComparison } from "./CompareEvidence.ts"
export {
  type Expectations,
  type KnownPasskey,
  parseKnownPasskey,
  parseRememberedHead,
  type RememberedHead
} from "./Expectations.ts"
export { findNoEvidence, type NoEvidence } from "./NoEvidence.ts"
export { type Envelope, type Evidence, MAX_ENVELOPE_BYTES, MAX_KEY_SET_BYTES } from "./OpenEvidence.ts"
export type { JournalEntry } from "./Replay.ts"
export { type ReplayedEvent, replayEvidence } from "./ReplayEvidence.ts"
export {
  CHECKS,
  type Check,
  type CheckName,
  type CheckStatus,
  type EvidenceReport,
  type Fault,
  type OutcomeSum,
  type Proved,
  type ProvedApproval,
  type Verdict,
  type Warning,
  type WarningCode
} from "./Report.ts"
export { verifyEvidence } from "./VerifyEvidence.ts"
export { intlZones, type ZoneDatabase } from "./ZoneDatabase.ts"
