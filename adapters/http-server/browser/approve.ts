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
import { canBeAsked, isSending, post, Refusal, type Step } from "./Requests.ts"
import { areShown, element, showLines } from "./Statement.ts"

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

const main = element("main")
const words: ScriptWords = JSON.parse(main.dataset.words!)
/** The instant, by this device's clock, at which the session ends. */
const endsAt = Date.now() + Number(main.dataset.remaining)

/** What goes wrong must not look like what goes on. */
type Tone = "progress" | "failure"

const say = (text: string, tone: Tone): void => {
  const status = element("status")
  status.dataset.tone = tone
  status.textContent = text
}

/** Nothing is left to do here. */
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
 * The link is closed. What was decided, here, in another tab or on a way whose answer was lost, only the service can say: its
 * page of the closed link takes the place of this one.
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
    // Whoever can no longer approve may have begun before, and can decline still.
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

/** Browsers answer a closed dialog, a dialog without a press, and a time that ran out with one and the same name. */
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

/** One thing at a time. The buttons stay focusable meanwhile, so that the focus is not lost. */
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

/** Seconds before the end from which the time is loud, and at which it is spoken. */
const LAST_MINUTE_SECONDS = 60
/** Seconds before the end at which whatever a screen reader says is interrupted. */
const ALARM_SECONDS = 20

const clockText = (seconds: number): string =>
  `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")}`

/** Says a text once: setting it each second would have it spoken each second. */
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
  say(words.noPasskeys, "failure")
}

// Without a way to approve there is nothing to press.
if (document.getElementById("actions") !== null) start()
