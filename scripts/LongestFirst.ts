import { basename } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The files that take longest, so that none of them is left to one worker at the end while the others have nothing to do. */
const LONGEST = [
  "KilledProcessOnPglite",
  "PgliteStore",
  "KilledWebhookWorkers",
  "OperatedDeployment",
  "KilledProcesses",
  "FlatCosts",
  "PostgresOutages",
  "StandbyHistory",
  "PostgresHealth",
  "PostgresStore",
  "PausedProcess",
  "LargeEvidence",
  "ApprovalAccessibility",
  "PasskeyCeremony",
  "ApprovalOrigin",
  "ApprovalTabs",
  "Reference",
  "Readme",
  "DevServer",
  "Receiver",
  "WebhookWorkers",
  "HttpListener",
  "WebhookOperations",
  "EvidenceAnswer",
  "PublicCases",
  "ClientUnderFaults",
  "SecretCanaries",
  "HostileRequests",
  "Traces",
  "Service",
  "properties",
  "ownStore",
  "WebhookSecrets",
  "TenantSeparation",
  "ExternalSigner",
  "ApiServer",
  "Listen",
  "Programs",
  "ServiceRuntime",
  "ReferenceSamples",
  "ClosedOutput"
]

const placeOf = (name: string): number => {
  const place = LONGEST.indexOf(name)
  return place < 0 ? LONGEST.length : place
}

const nameOf = ({ moduleId }: TestSpecification): string => basename(moduleId, ".test.ts")

/** Orders test files by their last known duration, then by their size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => placeOf(nameOf(one)) - placeOf(nameOf(other)))
  }
}
