import type { Expectations } from "@svc/verifier"
import type { ListItems, ListKind, Slice } from "./EvidenceLists.ts"
import type { Answer, Request, Verified } from "./Messages.ts"

/** What the evidence is verified with. */
export interface Given {
  readonly evidence: ReadonlyArray<File>
  readonly keySet: File
  readonly expectations: Expectations
}

export type Outcome = Extract<Answer, { readonly answer: "verified" | "cannot run" }>

/** Evidence that was verified, and its lists. */
export interface Opened extends Verified {
  readonly answer: "verified"
  readonly read: <Kind extends ListKind>(
    slice: Slice & { readonly kind: Kind }
  ) => Promise<ReadonlyArray<ListItems[Kind]>>
}

/** Where a browser has trusted types, a worker starts from an address that this policy made, and nothing else becomes code. */
interface TrustedTypes {
  readonly createPolicy: (
    name: string,
    rules: { readonly createScriptURL: (url: string) => string }
  ) => { readonly createScriptURL: (url: string) => string }
}

/** Named in the page's content security policy. */
const POLICY = "svc-viewer-worker"

const { trustedTypes } = globalThis as unknown as { readonly trustedTypes?: TrustedTypes }
const policy = trustedTypes?.createPolicy(POLICY, { createScriptURL: (url) => url })

/** The address of the page's own program, which the worker runs too, so that the page stays one file. */
const addressOf = (program: string): string => {
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }))
  return policy?.createScriptURL(address) ?? address
}

const NO_WORKER =
  "This browser does not let the page verify in the background: try another one, or open the page over https."

/** Verifies, one evidence at a time: what was asked before is given up. */
export const makeVerification = (program: string) => {
  const address = addressOf(program)
  let worker: Worker | undefined
  return (given: Given): Promise<Opened | Extract<Outcome, { readonly answer: "cannot run" }>> => {
    worker?.terminate()
    const mine = new Worker(address)
    worker = mine
    const ask = (request: Request) => mine.postMessage(request)
    const reads = new Map<number, (items: ReadonlyArray<ListItems[ListKind]>) => void>()
    const read: Opened["read"] = (slice) =>
      new Promise((resolve) => {
        const id = reads.size
        reads.set(id, resolve as (items: ReadonlyArray<ListItems[ListKind]>) => void)
        ask({ ask: "slice", id, ...slice })
      })
    return new Promise((resolve) => {
      mine.onerror = () => resolve({ answer: "cannot run", why: NO_WORKER })
      mine.onmessage = ({ data }: { readonly data: Answer }) => {
        if (data.answer === "slice") reads.get(data.id)?.(data.items)
        else if (data.answer === "verified") resolve({ ...data, read })
        else resolve(data)
      }
      ask({ ask: "verify", ...given })
    })
  }
}
