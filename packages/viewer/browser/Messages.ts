import type { EvidenceReport, Expectations } from "@svc/verifier"
import type { Used } from "./Budgets.ts"
import type { ListItems, ListKind, Slice } from "./EvidenceLists.ts"

/** What the page asks of its worker. */
export type Request =
  | {
      readonly ask: "verify"
      readonly evidence: ReadonlyArray<Blob>
      readonly keySet: Blob
      readonly expectations: Expectations
    }
  | ({ readonly ask: "slice"; readonly id: number } & Slice)

/** Evidence that was looked at. The lists stay where they were made: of long evidence a page shows a part at a time. */
export interface Verified {
  readonly report: EvidenceReport
  readonly totals: Used
  /** Of each list, by its kind and filter. */
  readonly lengths: Readonly<Record<string, number>>
}

/** What the worker answers. */
export type Answer =
  | ({ readonly answer: "verified" } & Verified)
  /** Nothing was found out about the evidence. */
  | { readonly answer: "cannot run"; readonly why: string }
  | { readonly answer: "slice"; readonly id: number; readonly items: ReadonlyArray<ListItems[ListKind]> }
