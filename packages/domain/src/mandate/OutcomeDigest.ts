import { sha256 } from "@noble/hashes/sha2.js"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { canonicalBytes } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import type { OutcomeConflictData } from "./JournalFact.ts"

/**
 * Identifies the content of a report, compared as values (part 5). Timestamps are normalized before, so one instant
 * has one text.
 */
export const outcomeDigest = (report: Pick<OutcomeConflictData, "reported" | "content">): string =>
  encodeBase64Url(
    sha256(canonicalBytes({ reported: report.reported, content: report.content } as unknown as JsonValue))
  )
