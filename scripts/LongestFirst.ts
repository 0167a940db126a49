import { basename } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** A worker that changes from one project to another starts anew, so each project's files go together. */
const PROJECTS = ["stores", "browser", "service", "packages", "core"]

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
  "DevServer",
  "Readme",
  "WebhookWorkers",
  "WebhookOperations",
  "HttpListener",
  "PublicCases",
  "Listen",
  "Programs",
  "ApiServer",
  "HostileRequests",
  "TenantSeparation",
  "ReferenceSamples",
  "SecretCanaries",
  "Receiver"
]

const placeOf = (names: ReadonlyArray<string>, name: string): number => {
  const place = names.indexOf(name)
  return place < 0 ? names.length : place
}

const nameOf = ({ moduleId }: TestSpecification): string => basename(moduleId, ".test.ts")

/** Orders test files by project, and within each by their last known duration, then by their size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    return sorted.toSorted(
      (one, other) =>
        placeOf(PROJECTS, one.project.name) - placeOf(PROJECTS, other.project.name) ||
        placeOf(LONGEST, nameOf(one)) - placeOf(LONGEST, nameOf(other))
    )
  }
}
