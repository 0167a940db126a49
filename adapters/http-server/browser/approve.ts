/*
 * The script of the approval page. It asks for the next step of the ceremony, hands it to the browser's passkey dialog, and
 * sends what comes back. Nothing is asked of the server before a button is pressed: the first request binds the session to
 * this browser.
 */
import {
  browserSupportsWebAuthn,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService
} from "@simplewebauthn/browser"
import type { ScriptWords } from "../src/approval/words/PageWords.ts"
import { isSending, post, Refusal, type Step } from "./Requests.ts"
import { areShown, element, showLines } from "./Statement.ts"

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

const main = element("main")
const words: ScriptWords = JSON.parse(main.dataset.words!)
/** The instant, by this device's clock, at which the session ends. */
const endsAt = Date.now() + Number(main.dataset.remaining)

const say = (text: string): void => {
  element("status").textContent = text
}

/** Nothing is left to do here. */
let isOver = false

const back = element("back")

const close = (title: string, explanation: string): void => {
  if (isOver) return
  isOver = true
  WebAuthnAbortService.cancelCeremony()
  const heading = document.createElement("h1")
  heading.tabIndex = -1
  heading.textContent = title
  const paragraph = document.createElement("p")
  paragraph.textContent = explanation
  document.title = title
  back.textContent = words.goBack
  main.replaceChildren(heading, paragraph, back)
  heading.focus()
}

const leave = (text: string, address: string): void => {
  isOver = true
  say(text)
  element("actions").hidden = true
  // Should the browser stay, there is a way on.
  back.textContent = words.goBack
  location.replace(address)
}

// --------------------------------------------------------------------------------------------- ceremony

/**
 * The step that the server prepared and that was not sent back yet. A dialog that was closed leaves it in place, so
 * that the next press opens the dialog at once: browsers that want a press for each dialog then have a fresh one.
 */
let prepared: Step | undefined

/** Whether a passkey was created here, and only waits to be used. */
let hasNewPasskey = false

const nextStep = async (): Promise<Step> => {
  prepared ??= await post("ceremony", {})
  return prepared
}

/** What is sent once is spent, whatever comes of it. */
const send: typeof post = (action, body) => {
  prepared = undefined
  return post(action, body)
}

/** No dialog outlives the session. */
const withinSession = <Options extends { readonly timeout?: number }>(options: Options): Options => ({
  ...options,
  timeout: Math.max(1, Math.min(options.timeout ?? Number.POSITIVE_INFINITY, endsAt - Date.now()))
})

const register = async ({ options }: Extract<Step, { step: "register" }>): Promise<void> => {
  say(words.creatingPasskey)
  const created = await startRegistration({ optionsJSON: withinSession(options) })
  say(words.working)
  await send("passkey", created)
  hasNewPasskey = true
  element("approve").textContent = words.approveWithPasskey
}

const approve = async (): Promise<void> => {
  say(words.working)
  let next = await nextStep()
  if (next.step === "register") {
    await register(next)
    next = await nextStep()
  }
  if (next.step !== "approve") throw new Refusal("passkey_verification_failed")
  const { lines } = next.statement.display
  if (!areShown(lines)) {
    showLines(lines)
    say(words.linesChanged)
    element("details").focus()
    return
  }
  say(words.confirming)
  const assertion = await startAuthentication({ optionsJSON: withinSession(next.options) })
  say(words.working)
  const { redirect_to } = await send("approval", assertion)
  leave(words.approved, redirect_to)
}

const decline = async (): Promise<void> => {
  say(words.declining)
  try {
    await nextStep()
  } catch (error) {
    // Whoever can no longer approve may have begun before, and can decline still.
    if (!(error instanceof Refusal) || error.code !== "enrolment_not_allowed") throw error
  }
  const { redirect_to } = await send("decline", {})
  leave(words.declined, redirect_to)
}

// ------------------------------------------------------------------------------------------------ faults

const sayRefusal = ({ code }: Refusal): void => {
  if (code === "approval_session_closed") close(words.closedTitle, words.closedText)
  else if (code === "approval_session_bound") say(words.otherBrowser)
  else if (code === "enrolment_not_allowed") say(words.noPasskeyAllowed)
  else if (code === "passkey_verification_failed" || code === "validation_failed") say(words.passkeyRefused)
  else say(words.tryAgain)
}

/** Browsers answer a closed dialog, a dialog without a press, and a time that ran out with one and the same name. */
const sayDialogFault = (error: unknown): void => {
  const name = error instanceof Error ? error.name : ""
  if (name === "NotAllowedError" || name === "AbortError") {
    say(hasNewPasskey ? words.oneMoreStep : words.dialogClosed)
  } else if (name === "NotSupportedError" || name === "ConstraintError") say(words.passkeyUnsupported)
  else say(words.passkeyFailed)
}

let isBusy = false

const setBusy = (busy: boolean): void => {
  isBusy = busy
  for (const id of ["approve", "decline"]) element(id).setAttribute("aria-disabled", String(busy))
}

/** One thing at a time. The buttons stay focusable meanwhile, so that the focus is not lost. */
const onPress = (run: () => Promise<void>) => async (): Promise<void> => {
  if (isBusy || isOver) return
  setBusy(true)
  try {
    await run()
  } catch (error) {
    if (isOver) return
    if (error instanceof Refusal) sayRefusal(error)
    else sayDialogFault(error)
  } finally {
    if (!isOver) setBusy(false)
  }
}

// -------------------------------------------------------------------------------------------------- time

/** Seconds before the end at which the time is spoken. */
const WARNING_SECONDS = 60

const clockText = (seconds: number): string =>
  `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")}`

let hasWarned = false

const tick = (): void => {
  if (isOver) {
    clearInterval(ticking)
    return
  }
  const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / MILLISECONDS_PER_SECOND))
  element("timer").textContent = clockText(seconds)
  if (seconds <= WARNING_SECONDS && !hasWarned) {
    hasWarned = true
    element("announcement").textContent = words.oneMinuteLeft
  }
  if (seconds > 0 || isSending()) return
  // What was decided, here, in another tab or on a way whose answer was lost, only the caller can show.
  close(words.expiredTitle, words.closedText)
}

// ------------------------------------------------------------------------------------------------- start

const ticking = setInterval(tick, MILLISECONDS_PER_SECOND)

// A page that comes back out of the browser's memory is as old as its lines.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload()
})

const start = (): void => {
  element("no-buttons").remove()
  element("actions").hidden = false
  element("approve").addEventListener("click", onPress(approve))
  element("decline").addEventListener("click", onPress(decline))
  if (browserSupportsWebAuthn()) return
  element("approve").hidden = true
  element("ahead").hidden = true
  say(words.noPasskeys)
}

// Without a way to approve there is nothing to press.
if (document.getElementById("actions") !== null) start()
