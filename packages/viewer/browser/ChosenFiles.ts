import { MAX_ENVELOPE_BYTES, MAX_KEY_SET_BYTES } from "@svc/verifier"
import { element, make } from "./Elements.ts"
import { counted, said } from "./ShownText.ts"

/** What was chosen or dropped so far. */
export interface ChosenFiles {
  /** The evidence, and its continuations in the order of their events. */
  readonly evidence: ReadonlyArray<File>
  readonly keySet: File | undefined
}

/** Most bytes of evidence with its continuations that are put in order. */
const MAX_ORDERED_BYTES = MAX_ENVELOPE_BYTES

type JsonMembers = Readonly<Record<string, unknown>>

/** What a file holds, if it is a JSON object; the verifier reads it again, strictly. */
const membersOf = async (file: File): Promise<JsonMembers> => {
  try {
    const value: unknown = JSON.parse(await file.text())
    return typeof value === "object" && value !== null ? (value as JsonMembers) : {}
  } catch {
    return {}
  }
}

/** Whether a file that was dropped is the key set rather than evidence. */
const isKeySet = async (file: File): Promise<boolean> =>
  file.size <= MAX_KEY_SET_BYTES && Array.isArray((await membersOf(file)).keys)

/** The event that a continuation goes on from; -1 for what is none. */
const continuesAfter = async (file: File): Promise<number> => {
  const { format, payload } = await membersOf(file)
  if (format !== "svc.evidence.continuation.v1" || typeof payload !== "string") return -1
  try {
    const { after } = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")))
    return Number(after.seq)
  } catch {
    return Number.MAX_SAFE_INTEGER
  }
}

/** Evidence comes first, and each continuation behind what it continues. */
const inOrder = async (files: ReadonlyArray<File>): Promise<ReadonlyArray<File>> => {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  // What is too long is refused by the worker, and must not be read here before.
  if (files.length < 2 || total > MAX_ORDERED_BYTES) return files
  const placed = await Promise.all(files.map(async (file) => ({ file, after: await continuesAfter(file) })))
  return placed.sort((one, other) => one.after - other.after).map(({ file }) => file)
}

const BYTES_PER_MEBIBYTE = 1_048_576
const BYTES_PER_KIBIBYTE = 1024

const sizeOf = ({ size }: File): string => {
  if (size < BYTES_PER_KIBIBYTE) return counted(size, "byte")
  return size < BYTES_PER_MEBIBYTE
    ? `${Math.round(size / BYTES_PER_KIBIBYTE)} KiB`
    : `${(size / BYTES_PER_MEBIBYTE).toFixed(1)} MiB`
}

const showName = (id: string, files: ReadonlyArray<File>): void => {
  const names = files.map((file) => make("li", {}, said(file.name), ` (${sizeOf(file)})`))
  element(id).replaceChildren(...(names.length === 0 ? [make("li", {}, "none yet")] : names))
}

/** Takes files from the two inputs, and whatever is dropped anywhere on the page. */
export const takeFiles = (changed: (files: ChosenFiles) => void): void => {
  let evidence: ReadonlyArray<File> = []
  let keySet: File | undefined
  let choices = 0
  /** Files are read to put them in order, which takes time: what was chosen last counts, not what was read last. */
  const takeEvidence = async (files: ReadonlyArray<File>): Promise<void> => {
    const mine = ++choices
    const ordered = await inOrder(files)
    if (mine === choices) evidence = ordered
  }
  const tell = () => {
    showName("evidence-names", evidence)
    showName("keys-names", keySet === undefined ? [] : [keySet])
    changed({ evidence, keySet })
  }
  const input = (id: string, take: (files: ReadonlyArray<File>) => Promise<void> | void) => {
    const node = element<HTMLInputElement>(id)
    // The same file can be chosen again, after it was changed.
    node.addEventListener("click", () => {
      node.value = ""
    })
    node.addEventListener("change", async () => {
      const files = [...(node.files ?? [])]
      if (files.length === 0) return
      await take(files)
      tell()
    })
  }
  input("evidence-file", takeEvidence)
  input("keys-file", ([file]) => {
    keySet = file
  })
  document.addEventListener("dragover", (event) => {
    event.preventDefault()
    document.documentElement.classList.add("dragged-over")
  })
  const leave = () => document.documentElement.classList.remove("dragged-over")
  document.addEventListener("dragleave", leave)
  document.addEventListener("drop", async (event) => {
    event.preventDefault()
    leave()
    const files = [...(event.dataTransfer?.files ?? [])]
    const sorted = await Promise.all(files.map(async (file) => ({ file, keys: await isKeySet(file) })))
    const others = sorted.filter(({ keys }) => !keys).map(({ file }) => file)
    const [dropped, ...further] = sorted.filter(({ keys }) => keys)
    // Whoever sent the evidence may have put a key set of theirs beside it: it must not take the place of one that was chosen.
    if (further.length === 0) keySet ??= dropped?.file
    if (others.length > 0) await takeEvidence(others)
    if (files.length > 0) tell()
  })
}
