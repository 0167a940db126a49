import { isJsonObject, type JsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import {
  type Evidence,
  findNoEvidence,
  MAX_ENVELOPE_BYTES,
  MAX_KEY_SET_BYTES,
  replayEvidence
} from "@svc/verifier"
import * as Result from "effect/Result"
import { type EvidenceLists, listEvidence } from "./EvidenceLists.ts"
import type { Answer, Request } from "./Messages.ts"

/** Most files of evidence with its continuations. */
const MAX_FILES = 1000
/** Most bytes of them together: a browser holds them several times over. */
const MAX_TOTAL_BYTES = 2 * MAX_ENVELOPE_BYTES

/** Why the evidence was not looked at, which says nothing about it. */
class CannotRun extends Error {}

const bytesOf = async (file: Blob, what: string, limit: number): Promise<Uint8Array> => {
  if (file.size > limit) throw new CannotRun(`${what} is longer than ${limit} bytes.`)
  try {
    return new Uint8Array(await file.arrayBuffer())
  } catch {
    throw new CannotRun(`${what} can no longer be read: choose the file again.`)
  }
}

const keySetIn = (bytes: Uint8Array): JsonObject => {
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success) || !Array.isArray(parsed.success.keys)) {
    throw new CannotRun("The key set is not strict JSON with a list of keys.")
  }
  return parsed.success
}

type VerifyRequest = Extract<Request, { readonly ask: "verify" }>

const verify = async ({ evidence, expectations, keySet }: VerifyRequest) => {
  if (globalThis.crypto?.subtle === undefined) {
    throw new CannotRun("This page needs WebCrypto: open it as a file, or over https.")
  }
  const keys = keySetIn(await bytesOf(keySet, "The key set", MAX_KEY_SET_BYTES))
  if (evidence.length > MAX_FILES) throw new CannotRun(`These are more than ${MAX_FILES} files of evidence.`)
  if (evidence.reduce((sum, { size }) => sum + size, 0) > MAX_TOTAL_BYTES) {
    throw new CannotRun(`The files of evidence are longer than ${MAX_TOTAL_BYTES} bytes together.`)
  }
  const parts = await Promise.all(evidence.map((file) => bytesOf(file, "The evidence", MAX_ENVELOPE_BYTES)))
  const none = await findNoEvidence(parts, keys, expectations)
  if (none !== undefined)
    throw new CannotRun(`File ${none.index + 1} of the evidence is ${none.what}: fetch it again.`)
  const { events, report } = await replayEvidence(parts as unknown as Evidence, keys, expectations)
  return { report, lists: listEvidence(events) }
}

/** The part of the global scope of a worker that is used. */
interface WorkerScope {
  onmessage: ((event: { readonly data: Request }) => void) | null
  readonly postMessage: (answer: Answer) => void
}

/** Verifies evidence off the page's thread, and keeps what it shows of it. */
export const startWorker = (scope: WorkerScope): void => {
  let lists: EvidenceLists | undefined
  const answer = async (request: Request): Promise<Answer> => {
    if (request.ask === "slice") {
      return { answer: "slice", id: request.id, items: lists?.slice(request) ?? [] }
    }
    try {
      const verified = await verify(request)
      lists = verified.lists
      const { lengths, totals } = lists
      return { answer: "verified", report: verified.report, totals, lengths }
    } catch (error) {
      const why =
        error instanceof CannotRun ? error.message : `The verifier failed: ${error}. It is at fault itself.`
      return { answer: "cannot run", why }
    }
  }
  scope.onmessage = ({ data }) => void answer(data).then(scope.postMessage.bind(scope))
}
