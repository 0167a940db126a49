/*
 * The program of the evidence viewer: of its page, and of the worker that the page starts from the same text to verify in the
 * background.
 */

import { budgetView } from "./BudgetView.ts"
import { checkList } from "./CheckView.ts"
import { type ChosenFiles, takeFiles } from "./ChosenFiles.ts"
import { decisionView } from "./DecisionView.ts"
import { element, make } from "./Elements.ts"
import { startWorker } from "./EvidenceWorker.ts"
import { expectedValues, UnreadableValue } from "./ExpectedValues.ts"
import { approvalView, provedView } from "./ProvedView.ts"
import { timelineView } from "./TimelineView.ts"
import { sayingOf, verdictDetails } from "./VerdictView.ts"
import { makeVerification, type Opened } from "./Verification.ts"

type Tone = "success" | "failure" | "neutral" | "waiting"

const sayVerdict = (tone: Tone, title: string, text: string): void => {
  const region = element("verdict")
  region.dataset.tone = tone
  region.replaceChildren(make("h2", {}, title), make("p", {}, text))
}

const showOpened = (opened: Opened, files: ReadonlyArray<File>): void => {
  const { report } = opened
  const { text, title, tone } = sayingOf(report)
  const { proved } = report
  const parts = [...verdictDetails(report)]
  if (proved !== undefined) {
    const { currency } = proved.mandate.policy
    parts.push(
      provedView(proved, { kid: report.kid, files }),
      approvalView(proved),
      budgetView(opened, proved),
      decisionView(opened, currency),
      timelineView(opened, currency)
    )
  }
  element("result").replaceChildren(...parts, checkList(report))
  element("after").hidden = false
  document.title = `${title} | Evidence viewer`
  sayVerdict(tone, title, text)
}

const NOTHING_FOUND_OUT = "Nothing was found out about the evidence."

const cannotRun = (why: string): void =>
  sayVerdict("neutral", "The evidence was not looked at", `${why} ${NOTHING_FOUND_OUT}`)

const startPage = (program: string): void => {
  const verify = makeVerification(program)
  let chosen: ChosenFiles = { evidence: [], keySet: undefined }
  let runs = 0

  const clear = (): void => {
    element("result").replaceChildren()
    element("after").hidden = true
    document.title = "Evidence viewer"
  }

  const run = async (): Promise<void> => {
    const mine = ++runs
    const { evidence, keySet } = chosen
    clear()
    if (evidence.length === 0 || keySet === undefined) {
      const missing = evidence.length === 0 ? "the evidence" : "the key set of the service"
      sayVerdict("waiting", "Nothing verified yet", `Choose ${missing} to go on.`)
      return
    }
    try {
      const expectations = { ...expectedValues(), now: new Date() }
      sayVerdict(
        "waiting",
        "Verifying",
        "Every event and decision is made again. Long evidence takes a while."
      )
      const outcome = await verify({ evidence, keySet, expectations })
      if (mine !== runs) return
      if (outcome.answer === "verified") showOpened(outcome, [...evidence, keySet])
      else cannotRun(outcome.why)
    } catch (error) {
      if (mine !== runs) return
      clear()
      cannotRun(error instanceof UnreadableValue ? error.message : `The viewer failed: ${error}.`)
    }
  }

  takeFiles((files) => {
    chosen = files
    void run()
  })
  const form = element<HTMLFormElement>("expected")
  form.addEventListener("change", () => void run())
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void run()
  })
  element("print").addEventListener("click", () => print())
  element("files").hidden = false
}

if (typeof document === "undefined") startWorker(self as unknown as Parameters<typeof startWorker>[0])
else startPage(element("program").textContent)
