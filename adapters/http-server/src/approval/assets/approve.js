/*
 * The script of the approval page. It asks for the next step of the ceremony, hands it to the browser's passkey
 * dialog, and sends what comes back. Nothing is asked of the server before a button is pressed: the first request
 * binds the session to this browser.
 */

/** @param {string} id */
const element = (id) => document.getElementById(id)

const main = element("main")
const words = JSON.parse(main.dataset.words)
const approveButton = element("approve")
const declineButton = element("decline")

const MILLISECONDS_PER_SECOND = 1000
const SECONDS_PER_MINUTE = 60

/** The instant, by this device's clock, at which the session ends. */
const endsAt = Date.now() + Number(main.dataset.remaining)
/** Ends an open passkey dialog together with the session. */
const session = new AbortController()

/** @param {string} text */
const say = (text) => {
  element("status").textContent = text
}

// ---------------------------------------------------------------------------------------------- server

/** A request that was not answered as hoped; `code` is that of the problem, or `unreachable`. */
class Refusal extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code)
    this.code = code
  }
}

/** While an answer is owed, the page does not say how things stand. */
let isSending = false

/**
 * The mode stays the default: in any other, a page that sends no referrer sends no Origin either.
 *
 * @param {"ceremony" | "passkey" | "approval" | "decline"} action
 * @param {object} body
 */
const post = async (action, body) => {
  isSending = true
  try {
    const response = await fetch(`${location.pathname}/${action}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
      redirect: "error"
    })
    const answer = await response.json()
    if (response.ok) return answer
    throw new Refusal(answer.code)
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("unreachable")
  } finally {
    isSending = false
  }
}

// -------------------------------------------------------------------------------------------- passkeys

/** @param {string} text base64url without padding */
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
    character.charCodeAt(0)
  )

/** @param {ArrayBuffer} buffer */
const toText = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

const withBytes = (credential) => ({ ...credential, id: toBytes(credential.id) })

/** No dialog outlives the session. */
const timeoutOf = (options) => Math.max(1, Math.min(options.timeout ?? Infinity, endsAt - Date.now()))

/** The members of either response, as WebAuthn Level 3 writes them in JSON (section 5.1.8). */
const credentialJson = (credential, response) => ({
  id: credential.id,
  rawId: toText(credential.rawId),
  type: credential.type,
  clientExtensionResults: {},
  response: { clientDataJSON: toText(credential.response.clientDataJSON), ...response }
})

/** @param {object} options PublicKeyCredentialCreationOptionsJSON */
const createPasskey = async (options) => {
  const credential = await navigator.credentials.create({
    signal: session.signal,
    publicKey: {
      ...options,
      challenge: toBytes(options.challenge),
      user: withBytes(options.user),
      excludeCredentials: options.excludeCredentials.map(withBytes),
      timeout: timeoutOf(options)
    }
  })
  return credentialJson(credential, { attestationObject: toText(credential.response.attestationObject) })
}

/** @param {object} options PublicKeyCredentialRequestOptionsJSON */
const usePasskey = async (options) => {
  const credential = await navigator.credentials.get({
    signal: session.signal,
    publicKey: {
      ...options,
      challenge: toBytes(options.challenge),
      allowCredentials: options.allowCredentials.map(withBytes),
      timeout: timeoutOf(options)
    }
  })
  const { authenticatorData, signature, userHandle } = credential.response
  return credentialJson(credential, {
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    ...(userHandle ? { userHandle: toText(userHandle) } : {})
  })
}

// ----------------------------------------------------------------------------------------- what is shown

/** The lines on the page, read from the page: what the person could see. */
const shownLines = () =>
  [...element("lines").querySelectorAll("dd")].map((value) => ({
    label: value.parentElement.querySelector("dt").textContent,
    value: value.textContent
  }))

const text = (name, content) => {
  const node = document.createElement(name)
  node.dir = "auto"
  node.textContent = content
  return node
}

const showLines = (lines) => {
  const groups = []
  for (const { label, value } of lines) {
    if (groups.at(-1)?.firstChild.textContent !== label) {
      const group = document.createElement("div")
      group.append(text("dt", label))
      groups.push(group)
    }
    groups.at(-1).append(text("dd", value))
  }
  element("lines").replaceChildren(...groups)
}

/** @param {ReadonlyArray<{ label: string, value: string }>} lines */
const areShown = (lines) => {
  const shown = shownLines()
  return (
    lines.length === shown.length &&
    lines.every(({ label, value }, index) => label === shown[index].label && value === shown[index].value)
  )
}

let isOver = false

/** Nothing is left to do here. */
const close = (title, explanation) => {
  if (isOver) return
  isOver = true
  session.abort()
  const heading = document.createElement("h1")
  heading.tabIndex = -1
  heading.textContent = title
  const paragraph = document.createElement("p")
  paragraph.textContent = explanation
  document.title = title
  main.replaceChildren(heading, paragraph)
  heading.focus()
}

const leave = (address) => {
  isOver = true
  say(words.returning)
  location.replace(address)
}

// --------------------------------------------------------------------------------------------- ceremony

/**
 * The step that the server prepared and that was not sent back yet. A dialog that was closed leaves it in place, so
 * that the next press opens the dialog at once: browsers that want a press for each dialog then have a fresh one.
 */
let prepared

/** Whether a passkey was created here, and only waits to be used. */
let hasNewPasskey = false

const nextStep = async () => {
  prepared ??= await post("ceremony", {})
  return prepared
}

/** What is sent once is spent, whatever comes of it. */
const send = (action, body) => {
  prepared = undefined
  return post(action, body)
}

const register = async (options) => {
  say(words.creatingPasskey)
  const created = await createPasskey(options)
  say(words.working)
  await send("passkey", created)
  hasNewPasskey = true
  approveButton.textContent = words.approveWithPasskey
}

const approve = async () => {
  say(words.working)
  let next = await nextStep()
  if (next.step === "register") {
    await register(next.options)
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
  const assertion = await usePasskey(next.options)
  say(words.working)
  const { redirect_to } = await send("approval", assertion)
  leave(redirect_to)
}

const decline = async () => {
  say(words.declining)
  try {
    await nextStep()
  } catch (error) {
    // Whoever can no longer approve may have begun before, and can decline still.
    if (error.code !== "enrolment_not_allowed") throw error
  }
  const { redirect_to } = await send("decline", {})
  leave(redirect_to)
}

// ------------------------------------------------------------------------------------------------ faults

const sayRefusal = ({ code }) => {
  if (code === "approval_session_closed") return close(words.closedTitle, words.closedText)
  if (code === "approval_session_bound") return say(words.otherBrowser)
  if (code === "enrolment_not_allowed") return say(words.noPasskeyAllowed)
  if (code === "passkey_verification_failed" || code === "validation_failed") return say(words.passkeyRefused)
  return say(words.tryAgain)
}

/** Browsers answer a closed dialog, a dialog without a press, and a time that ran out with one and the same name. */
const sayDialogFault = ({ name }) => {
  if (name === "NotAllowedError" || name === "AbortError") {
    return say(hasNewPasskey ? words.oneMoreStep : words.dialogClosed)
  }
  if (name === "NotSupportedError" || name === "ConstraintError") return say(words.passkeyUnsupported)
  return say(words.passkeyFailed)
}

let isBusy = false

const setBusy = (busy) => {
  isBusy = busy
  for (const button of [approveButton, declineButton]) button.setAttribute("aria-disabled", String(busy))
}

/** One thing at a time. The buttons stay focusable meanwhile, so that the focus is not lost. */
const onPress = (run) => async () => {
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

const clockText = (seconds) =>
  `${Math.floor(seconds / SECONDS_PER_MINUTE)}:${String(seconds % SECONDS_PER_MINUTE).padStart(2, "0")}`

let hasWarned = false

const tick = () => {
  if (isOver) return clearInterval(ticking)
  const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / MILLISECONDS_PER_SECOND))
  element("timer").textContent = clockText(seconds)
  if (seconds <= WARNING_SECONDS && !hasWarned) {
    hasWarned = true
    element("announcement").textContent = words.oneMinuteLeft
  }
  if (seconds === 0 && !isSending) close(words.expiredTitle, words.expiredText)
}

// ------------------------------------------------------------------------------------------------- start

const ticking = setInterval(tick, MILLISECONDS_PER_SECOND)

// A page that comes back out of the browser's memory is as old as its lines.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload()
})

element("no-buttons").remove()
element("actions").hidden = false
approveButton.addEventListener("click", onPress(approve))
declineButton.addEventListener("click", onPress(decline))

if (!window.PublicKeyCredential || !navigator.credentials) {
  approveButton.hidden = true
  element("how").hidden = true
  say(words.noPasskeys)
}
