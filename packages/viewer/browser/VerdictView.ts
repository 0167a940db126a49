import type { Check, EvidenceReport, Fault, Warning } from "@svc/verifier"
import { make } from "./Elements.ts"
import { code, counted, said } from "./ShownText.ts"
import { isPinnable, openQuestion, WARNING_WORDS } from "./Words.ts"

/** How a verdict looks. Nothing but valid evidence is a success. */
export type Tone = "success" | "failure" | "neutral"

interface Saying {
  readonly tone: Tone
  readonly title: string
  readonly text: string
}

const failed = ({ checks }: EvidenceReport): ReadonlyArray<Check> =>
  checks.filter(({ status }) => status === "fail")

const INCIDENT =
  "It was changed after it was signed, or whoever signed it did not keep to the rules. Treat that as a security incident, and keep the file exactly as it is."

const invalidSaying = (report: EvidenceReport): Saying => {
  const faults = failed(report)
  const [first] = faults
  const tone = "failure"
  if (faults.every(({ name }) => isPinnable(name))) {
    return {
      tone,
      title: "Invalid: it is not the evidence that you expect",
      text: "By itself it is in order, but it contradicts a value that you entered. If the value is right, treat this as a security incident, and keep the file exactly as it is."
    }
  }
  if (first?.name === "envelope") {
    return {
      tone,
      title: "Invalid: the file is not evidence",
      text: "It is another file, or it was damaged on its way: fetch the evidence again. If the service answered exactly this, treat it as a security incident."
    }
  }
  if (first?.name === "key" && first.faults[0]?.detail.includes("no key with the kid")) {
    return {
      tone,
      title: "Invalid: the key set does not have its key",
      text: "Fetch the key set again: if yours is older than the key, the evidence verifies then. If not, the key was withdrawn, in which case evidence that is fetched anew verifies, or the evidence is forged."
    }
  }
  return { tone, title: "Invalid: do not rely on this evidence", text: INCIDENT }
}

const validTitle = ({ checks, proved }: EvidenceReport): string => {
  if (proved?.approval === undefined) return "Valid, and nobody approved the mandate"
  const pins = checks.filter(({ name, status }) => isPinnable(name) && status !== "not_applicable")
  const pinned = pins.filter(({ status }) => status === "pass").length
  if (pinned === 0) return "Valid, with nothing pinned"
  if (pinned < pins.length) return `Valid, with ${pinned} of ${pins.length} expected values pinned`
  const isOpen = checks.some(({ status }) => status === "not_pinned")
  return isOpen ? "Valid and as expected, but for its time zones" : "Valid, and as expected"
}

const validSaying = (report: EvidenceReport): Saying => {
  const { proved } = report
  const events = counted(proved?.head.seq ?? 0, "event")
  const made = proved?.decisions_rerun ?? 0
  const decisions =
    made === 0
      ? "there was nothing to decide yet"
      : `${counted(made, "decision")} came out the same when made again`
  return {
    tone: "success",
    title: validTitle(report),
    text: `A key of the key set signed it, its journal of ${events} keeps to the rules, and ${decisions}.`
  }
}

export const sayingOf = (report: EvidenceReport): Saying => {
  if (report.verdict === "valid" && report.proved !== undefined) return validSaying(report)
  if (report.verdict === "unsupported") {
    return {
      tone: "neutral",
      title: "This viewer cannot verify it",
      text: "The evidence is of a version, or has a passkey of a kind, that is not known here, or it is a continuation without the evidence that it continues. Nothing is known to be wrong, and nothing to be right: choose that evidence too, or use a newer viewer."
    }
  }
  return invalidSaying(report)
}

/** Where a fault is, such as `event 4 /hash`. */
export const placeOf = ({ member, seq }: Fault): string =>
  [seq === undefined ? "" : `event ${seq}`, member].filter((part) => part !== "").join(" ")

/** The faults of a check, as items of a list. */
export const faultItems = ({ faults }: Check): ReadonlyArray<HTMLElement> =>
  faults.map((fault) => {
    const place = placeOf(fault)
    return make(
      "li",
      {},
      make("p", {}, ...(place === "" ? [] : [make("strong", {}, code(place)), ": "]), said(fault.detail))
    )
  })

const warningItem = ({ authorization_id, code: name, detail, seq }: Warning): HTMLElement =>
  make(
    "li",
    {},
    make(
      "p",
      {},
      make("strong", {}, WARNING_WORDS[name]),
      seq === undefined ? "" : `, event ${seq}`,
      ": ",
      said(detail),
      ...(authorization_id === undefined ? [] : [" (", code(authorization_id), ")"])
    )
  )

/** Most warnings that are shown at once. */
const MAX_SHOWN_WARNINGS = 20

const warnings = (all: ReadonlyArray<Warning>): ReadonlyArray<Node> => {
  if (all.length === 0) return []
  const hidden = all.length - MAX_SHOWN_WARNINGS
  return [
    make("h3", {}, "What you should know"),
    make(
      "ul",
      {},
      ...all.slice(0, MAX_SHOWN_WARNINGS).map(warningItem),
      ...(hidden > 0
        ? [make("li", {}, `and ${counted(hidden, "more warning")}; the timeline has them all`)]
        : [])
    )
  ]
}

const openQuestions = ({ checks, verdict }: EvidenceReport): ReadonlyArray<Node> => {
  if (verdict !== "valid") return []
  const open = checks.filter(({ status }) => status === "not_pinned")
  const item = (name: string, question: string) =>
    make("li", {}, make("strong", {}, code(name)), `: ${question}`)
  return [
    make("h3", {}, "What it does not show by itself"),
    make(
      "ul",
      {},
      item("key set", "that its keys are the service's own: fetch it from the service's address yourself"),
      ...open.map(({ name }) => item(name, openQuestion(name)))
    ),
    ...(open.some(({ name }) => isPinnable(name))
      ? [make("p", {}, "Enter what you know from elsewhere under Expected values, and it is checked too.")]
      : [])
  ]
}

const faults = (report: EvidenceReport): ReadonlyArray<Node> => {
  const wrong = failed(report)
  if (wrong.length === 0) return []
  return [
    make("h3", {}, report.verdict === "unsupported" ? "What is not known" : "What is wrong"),
    make(
      "ul",
      {},
      ...wrong.map((check) =>
        make("li", {}, make("strong", {}, code(check.name)), make("ul", {}, ...faultItems(check)))
      )
    )
  ]
}

/** What stands below the verdict: faults, warnings, and what was not pinned. */
export const verdictDetails = (report: EvidenceReport): ReadonlyArray<Node> => {
  const parts = [...faults(report), ...warnings(report.warnings), ...openQuestions(report)]
  const look = report.verdict === "invalid" ? "notice failure" : "notice"
  return parts.length === 0 ? [] : [make("div", { class: look }, ...parts)]
}
