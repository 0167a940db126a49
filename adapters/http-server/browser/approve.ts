/*
 * The script of the approval page. It requests the next step of the ceremony, passes it to the browser's passkey dialog and
 * sends the result. It sends no request before a button is pressed, since the first one binds the session to this browser.
 */
import {
  browserSupportsWebAuthn,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService
} from "@simplewebauthn/browser"
import type { ScriptWords } from "../src/approval/words/PageWords.ts"
import { canBeAsked, isSending, post, Refusal, type Step } from "./Requests.ts"
import { areShown, element, showLines } from "./Statement.ts"

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

const main = element("main")
const words: ScriptWords = JSON.parse(main.dataset.words!)
/** When the session ends, by this device's clock. */
const endsAt = Date.now() + Number(main.dataset.remaining)

type Tone = "progress" | "failure"

const say = (text: string, tone: Tone): void => {
  const status = element("status")
  status.dataset.tone = tone
  status.textContent = text
}

/** Whether the page is finished. */
let isOver = false

const back = element("back")

const showEnd = (): void => {
  const heading = document.createElement("h1")
  heading.tabIndex = -1
  heading.textContent = words.endTitle
  const paragraph = document.createElement("p")
  paragraph.className = "notice failure"
  paragraph.textContent = words.endText
  document.title = words.endTitle
  back.textContent = words.goBack
  back.className = "onward"
  main.replaceChildren(heading, paragraph, back)
  heading.focus()
}

/**
 * Ends the page after its link was closed. Only the service knows the decision, which may have been made in another tab or
 * in a request whose answer was lost, so its page of the closed link replaces this one.
 */
const end = async (): Promise<void> => {
  if (isOver) return
  isOver = true
  WebAuthnAbortService.cancelCeremony()
  if (document.getElementById("actions") !== null) setBusy(true)
  if (await canBeAsked()) location.reload()
  else showEnd()
}

const leave = (text: string, address: string): void => {
  isOver = true
  say(text, "progress")
  element("actions").hidden = true
  // The link remains if the browser does not follow the redirect.
  back.textContent = words.goBack
  location.replace(address)
}

// --------------------------------------------------------------------------------------------- ceremony

/**
 * The step that the server prepared and that was not used yet. It is kept when a dialog is closed, so that the next press
 * opens the dialog at once, as browsers require that want a user gesture for each dialog.
 */
let prepared: Step | undefined

/** Whether a passkey was created on this page and has not been used yet. */
let hasNewPasskey = false

const nextStep = async (): Promise<Step> => {
  prepared ??= await post("ceremony", {})
  return prepared
}

/** A step can be used once, whatever the outcome. */
const send: typeof post = (action, body) => {
  prepared = undefined
  return post(action, body)
}

/** Limits the timeout of a dialog to the end of the session. */
const withinSession = <Options extends { readonly timeout?: number }>(options: Options): Options => ({
  ...options,
  timeout: Math.max(1, Math.min(options.timeout ?? Number.POSITIVE_INFINITY, endsAt - Date.now()))
})

const register = async ({ options }: Extract<Step, { step: "register" }>): Promise<void> => {
  say(words.creatingPasskey, "progress")
  const created = await startRegistration({ optionsJSON: withinSession(options) })
  say(words.working, "progress")
  await send("passkey", created)
  hasNewPasskey = true
  element("approve").textContent = words.approveWithPasskey
}

const approve = async (): Promise<void> => {
  say(words.working, "progress")
  let next = await nextStep()
  if (next.step === "register") {
    await register(next)
    next = await nextStep()
  }
  if (next.step !== "approve") throw new Refusal("passkey_verification_failed")
  const { lines } = next.statement.display
  if (!areShown(lines)) {
    showLines(lines)
    say(words.linesChanged, "failure")
    element("details").focus()
    return
  }
  say(words.confirming, "progress")
  const assertion = await startAuthentication({ optionsJSON: withinSession(next.options) })
  say(words.working, "progress")
  const { redirect_to } = await send("approval", assertion)
  leave(words.approved, redirect_to)
}

const decline = async (): Promise<void> => {
  say(words.declining, "progress")
  try {
    await nextStep()
  } catch (error) {
    // A user who may not enrol may have started before, and can still decline.
    if (!(error instanceof Refusal) || error.code !== "enrolment_not_allowed") throw error
  }
  const { redirect_to } = await send("decline", {})
  leave(words.declined, redirect_to)
}

// ------------------------------------------------------------------------------------------------ faults

const sayRefusal = async ({ code }: Refusal): Promise<void> => {
  if (code === "approval_session_closed") await end()
  else if (code === "approval_session_bound") say(words.otherBrowser, "failure")
  else if (code === "enrolment_not_allowed") say(words.noPasskeyAllowed, "failure")
  else if (code === "passkey_verification_failed" || code === "validation_failed")
    say(words.passkeyRefused, "failure")
  else say(words.tryAgain, "failure")
}

/** Browsers report a closed dialog, a missing user gesture and a timeout with the same error name. */
const sayDialogFault = (error: unknown): void => {
  const name = error instanceof Error ? error.name : ""
  if (name === "NotAllowedError" || name === "AbortError") {
    if (hasNewPasskey) say(words.oneMoreStep, "progress")
    else say(words.dialogClosed, "failure")
  } else if (name === "NotSupportedError" || name === "ConstraintError")
    say(words.passkeyUnsupported, "failure")
  else say(words.passkeyFailed, "failure")
}

let isBusy = false

const setBusy = (busy: boolean): void => {
  isBusy = busy
  for (const id of ["approve", "decline"]) element(id).setAttribute("aria-disabled", String(busy))
}

/** Runs one action at a time. The buttons stay focusable, so that the focus is not lost. */
const onPress = (run: () => Promise<void>) => async (): Promise<void> => {
  if (isBusy || isOver) return
  setBusy(true)
  try {
    await run()
  } catch (error) {
    if (isOver) return
    if (error instanceof Refusal) await sayRefusal(error)
    else sayDialogFault(error)
  } finally {
    if (!isOver) setBusy(false)
  }
}

// -------------------------------------------------------------------------------------------------- time

/** Seconds before the end from which the time is highlighted, and at which it is announced. */
const LAST_MINUTE_SECONDS = 60
/** Seconds before the end at which the announcement interrupts a screen reader. */
const ALARM_SECONDS = 20

const clockText = (seconds: number): string =>
  `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")}`

/** Sets a text once, since screen readers repeat it whenever it is set. */
const announce = (id: "announcement" | "alarm", text: string): void => {
  const region = element(id)
  if (region.textContent !== text) region.textContent = text
}

const warn = (seconds: number): void => {
  element("limit").classList.add("urgent")
  element("hurry").hidden = false
  element("hurry-timer").textContent = clockText(seconds)
  if (seconds > ALARM_SECONDS) announce("announcement", words.oneMinuteLeft)
  else announce("alarm", words.twentySecondsLeft)
}

const tick = (): void => {
  if (isOver) {
    clearInterval(ticking)
    return
  }
  const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / MILLISECONDS_PER_SECOND))
  element("timer").textContent = clockText(seconds)
  if (seconds <= LAST_MINUTE_SECONDS) warn(seconds)
  if (seconds === 0 && !isSending()) void end()
}

// ------------------------------------------------------------------------------------------------- start

const ticking = setInterval(tick, MILLISECONDS_PER_SECOND)

// A page restored from the back/forward cache may be outdated.
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
  say(words.noPasskeys, "failure")
}

// The page has no buttons if there is no way to approve.
if (document.getElementById("actions") !== null) start()
