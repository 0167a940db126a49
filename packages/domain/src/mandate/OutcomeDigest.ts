import { sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import type { OutcomeConflictData } from "./JournalFact.ts"

/**
 * Identifies the content of a report, compared as values (part 5). Timestamps are normalized before, so one instant
 * has one text.
 */
export const outcomeDigest = (report: Pick<OutcomeConflictData, "reported" | "content">): string =>
  sha256Base64Url(
    canonicalJson({ reported: report.reported, content: report.content } as unknown as JsonValue)
  )
