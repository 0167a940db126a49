import { isJsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import * as Result from "effect/Result"
import type { Expectations } from "./Expectations.ts"
import { verifyEvidence } from "./VerifyEvidence.ts"

/** Longest file that is looked at as a problem, in bytes: far above any that the service answers with. */
const MAX_PROBLEM_BYTES = 65_536
/** How much of a file is looked at for the beginning of an HTML page, in bytes. */
const HTML_BEGINNING_BYTES = 1024
/** Members of an envelope: what has one of them is judged as evidence. */
const ENVELOPE_MEMBERS = ["format", "protected", "payload", "signature"] as const
/** Codes of the interface are of this form, so that one can be printed as it is. */
const PROBLEM_CODE = /^[a-z][a-z0-9_]{0,63}$/u

const isErrorStatus = (status: unknown): status is number =>
  Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599

const problemOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.length > MAX_PROBLEM_BYTES) return undefined
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success)) return undefined
  const problem = parsed.success
  const { code, status } = problem
  if (ENVELOPE_MEMBERS.some((member) => Object.hasOwn(problem, member))) return undefined
  return typeof code === "string" && PROBLEM_CODE.test(code) && isErrorStatus(status)
    ? `the service's refusal to give it, ${status} ${code}`
    : undefined
}

/** What a file is instead of evidence, by its outer form alone: empty, a problem, or an HTML page. */
const insteadOfEvidence = (bytes: Uint8Array): string | undefined => {
  const beginning = new TextDecoder().decode(bytes.subarray(0, HTML_BEGINNING_BYTES)).trimStart()
  if (beginning === "" && bytes.length <= HTML_BEGINNING_BYTES) return "empty"
  return /^<(?:!doctype html|html)[\s>]/iu.test(beginning) ? "an HTML page" : problemOf(bytes)
}

/** A file that was given as evidence and is none. */
export interface NoEvidence {
  /** Which of the files, from 0. */
  readonly index: number
  /** What it is, such as `empty` or `the service's refusal to give it, 404 mandate_not_found`. */
  readonly what: string
}

/**
 * The first of the files that is no evidence at all by its outer form, as when a download failed: it is empty, it is a problem of
 * the service (RFC 9457, with `code` and `status`) or it is an HTML page. Then there is nothing to verify, and nothing is known of
 * the evidence. Undefined in every other case, so that the verdict of {@link verifyEvidence} stands: for whatever has a member of an
 * envelope, for any other text, and if the files before it are not valid by themselves.
 *
 * @example
 * ```ts
 * import { findNoEvidence, verifyEvidence } from "@svc/verifier"
 *
 * const none = await findNoEvidence([bytes], keySet)
 * if (none !== undefined) throw new Error(`could not run: the file is ${none.what}`)
 * const report = await verifyEvidence(bytes, keySet)
 * ```
 */
export const findNoEvidence = async (
  files: ReadonlyArray<Uint8Array>,
  keySet: unknown,
  { head: _, ...expectations }: Expectations = {}
): Promise<NoEvidence | undefined> => {
  const kinds = files.map(insteadOfEvidence)
  const index = kinds.findIndex((kind) => kind !== undefined)
  const what = kinds[index]
  if (what === undefined) return undefined
  const [first, ...others] = files.slice(0, index)
  // A remembered head may be that of a later file, so it is not asked for here.
  if (first !== undefined) {
    const { verdict } = await verifyEvidence([first, ...others], keySet, expectations)
    if (verdict !== "valid") return undefined
  }
  return { index, what }
}
