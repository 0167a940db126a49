/** The caller's side: its settings, which the development server wrote, and its calls to the API. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type IdentityIssuer, makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { endWithOutput } from "./ClosedOutput.ts"

/** Exit code of `sysexits.h` for an invalid option. */
export const EXIT_USAGE = 64

/** What `npm start` writes to `.data/dev.json`. */
export interface DevelopmentSettings {
  readonly base_url: string
  readonly approval_base_url: string
  readonly organization_id: string
  readonly api_key: string
  readonly identity: {
    readonly issuer: string
    readonly audience: string
    readonly private_jwk: {
      readonly x: string
      readonly y: string
      readonly d: string
      readonly kid?: string
    }
  }
  readonly return_origin: string
}

export type Json = Readonly<Record<string, unknown>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // The examples rely on the documented shapes; a typed client would check them.
  // biome-ignore lint/suspicious/noExplicitAny: shapes are those of the interface
  readonly body: any
}

const readSettings = (directory: string): DevelopmentSettings | undefined => {
  try {
    return JSON.parse(readFileSync(join(directory, "dev.json"), "utf8"))
  } catch {
    return undefined
  }
}

const send = async (url: string, init: RequestInit): Promise<Answer> => {
  const response = await fetch(url, { ...init, redirect: "manual" })
  const text = await response.text()
  const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "")
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

export const say = (text: string) => console.log(text)

/** The body of an answer with this status; throws an error with the problem otherwise. */
export const expect = (answer: Answer, status: number): Answer => {
  if (answer.status === status) return answer
  throw new Error(`expected status ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`)
}

export interface Caller {
  readonly settings: DevelopmentSettings
  readonly issuer: IdentityIssuer
  readonly get: (path: string) => Promise<Answer>
  readonly write: (method: "POST" | "PUT", path: string, body: Json) => Promise<Answer>
}

/** The caller's backend, which keeps the API key to itself and sends an idempotency key with each write. */
const makeCaller = (settings: DevelopmentSettings): Caller => {
  const authorization = `Bearer ${settings.api_key}`
  const { issuer, audience, private_jwk } = settings.identity
  return {
    settings,
    issuer: makeIdentityIssuer({ issuer, audience, privateJwk: private_jwk }),
    get: (path) => send(settings.base_url + path, { headers: { authorization } }),
    write: (method, path, body) =>
      send(settings.base_url + path, {
        method,
        headers: {
          authorization,
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID()
        },
        body: JSON.stringify(body)
      })
  }
}

/** A browser on the approval page: it keeps the session's cookie and sends the page's origin. */
export const makeBrowser = (approvalUrl: string) => {
  let cookie: string | undefined
  return {
    visit: () => send(approvalUrl, {}),
    post: async (step: "ceremony" | "passkey" | "approval" | "decline", body: object): Promise<Answer> => {
      const answer = await send(`${approvalUrl}/${step}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          origin: new URL(approvalUrl).origin,
          ...(cookie === undefined ? {} : { cookie })
        },
        body: JSON.stringify(body)
      })
      const set = answer.headers.getSetCookie()[0]
      if (set !== undefined) cookie = set.split(";")[0]
      return answer
    }
  }
}

/** Why a request had no answer; Node reports that as the cause of the error. */
const connectionFault = (error: unknown): string | undefined => {
  const cause = error instanceof TypeError ? error.cause : undefined
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : undefined
}

/** Prints the help if `--help` was given. */
export const isHelpPrinted = (help: string): boolean => {
  const isAsked = process.argv.slice(2).some((word) => word === "--help" || word === "-h")
  if (isAsked) say(`${help}\n\nSVC_DATA_DIR names the data folder of the development server; default .data`)
  return isAsked
}

/** Runs an example against the development server, or says what is missing. */
export const withCaller = async (run: (caller: Caller) => Promise<void>): Promise<void> => {
  endWithOutput()
  const directory = process.env.SVC_DATA_DIR ?? ".data"
  const settings = readSettings(directory)
  if (settings === undefined) {
    console.error(`No ${directory}/dev.json: start the development server with "npm start" first.`)
    process.exitCode = 1
    return
  }
  await run(makeCaller(settings)).catch((error: unknown) => {
    const fault = connectionFault(error)
    if (fault === undefined) console.error(error instanceof Error ? error.message : error)
    else {
      console.error(
        `No server answers at ${settings.base_url} (${fault}): start the development server with "npm start" first.`
      )
    }
    process.exitCode = 1
  })
}
