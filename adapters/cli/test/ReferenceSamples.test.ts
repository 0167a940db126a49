import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { openApiText } from "@svc/http-server/reference/DocumentRoutes"
import { referencePage } from "@svc/http-server/reference/ReferencePage"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect, Layer } from "effect"
import { startService } from "./ServiceUnderTest.ts"

const runs = (program: string, ...parameters: ReadonlyArray<string>): boolean =>
  spawnSync(program, parameters, { stdio: "ignore" }).status === 0

/** The options that make a shell read what is typed as at a prompt, where zsh takes no comments. */
const INTERACTIVE: Readonly<Record<string, ReadonlyArray<string>>> = {
  sh: [],
  bash: ["--norc", "-i"],
  zsh: ["-f", "-i"]
}
const SHELLS = Object.keys(INTERACTIVE).filter((shell) => runs(shell, "-c", "exit 0"))
const hasTools = runs("curl", "--version") && runs("openssl", "version")

const unescaped = (html: string): string =>
  html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&")

/** Samples as a reader copies them, by operation. */
const samplesOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    [
      ...page.matchAll(
        /<section class="operation" id="(\w+)">[\s\S]*?<div class="sample">[\s\S]*?<code class="language-sh">([\s\S]*?)<\/code>/gu
      )
    ].map(([, id, code]) => [id!, unescaped(code!)])
  )

/** A shell that one types into. */
const openShell = (program: string, env: NodeJS.ProcessEnv) => {
  const child: ChildProcessWithoutNullStreams = spawn(program, [...INTERACTIVE[program]!, "-s"], {
    env: { ...process.env, ...env, HISTFILE: "/dev/null" },
    detached: true
  })
  let said = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk
    })
  }
  /** Runs the lines, and gives what they wrote. */
  const type = async (lines: string): Promise<string> => {
    said = ""
    child.stdin.write(`${lines}\nprintf '\\n[done %s]\\n' "$?"\n`)
    while (!/\[done \d+\]/u.test(said)) await new Promise((resolve) => setTimeout(resolve, 10))
    return said
  }
  return { type, close: () => child.kill() }
}

/** The order of a lifecycle; a cancellation and another refund need an authorization of their own. */
const ORDER = [
  "getHealth",
  "getReadiness",
  "getKeySet",
  "createMandate",
  "getMandate",
  "listMandates",
  "createApprovalSession",
  "approve",
  "listMandatePeriods",
  "createAuthorization",
  "cancelAuthorization",
  "createAuthorization",
  "getAuthorization",
  "commitAuthorization",
  "reportRefund",
  "listAuthorizations",
  "getEvidence",
  "listMandateEvents",
  "listEvents",
  "listPasskeys",
  "retirePasskey",
  "createWebhookEndpoint",
  "listWebhookEndpoints",
  "getWebhookEndpoint",
  "reactivateWebhookEndpoint",
  "rotateWebhookSecret",
  "testWebhookEndpoint",
  "attempt",
  "listWebhookDeliveries",
  "redeliverWebhook",
  "deleteWebhookEndpoint",
  "revokeMandate"
]

/** What shells read each in their own way: documents, substitutions and pipes. */
const SHORT_ORDER = [
  "createMandate",
  "createApprovalSession",
  "approve",
  "createAuthorization",
  "commitAuthorization"
]

/** A shell starts some sixty programs, which takes its time on a busy machine, in milliseconds. */
const TIMEOUT_MS = 120_000

/** In place of npm in the folder of the development server: signs as that does. */
const fakeNpm = (folder: string): string => {
  const file = join(folder, "npm")
  writeFileSync(file, `#!/bin/sh\ncat "${join(folder, "assertion")}"\n`)
  chmodSync(file, 0o755)
  return folder
}

/** Evidence is flagged where an execution is reported before it was allowed. */
const assertWithinAuthority = (said: string): void => {
  const instantOf = (member: string) =>
    parseTimestamp(new RegExp(`"${member}":"([^"]+)"`, "u").exec(said)?.[1] ?? "") ?? 0n
  const at = instantOf("reported_accepted_at")
  assert.isTrue(instantOf("created_at") <= at && at < instantOf("execute_before"), said)
}

describe.skipIf(!hasTools)("the samples of the reference", () => {
  for (const shell of SHELLS) {
    it.live(
      `run unchanged in ${shell}`,
      () =>
        Effect.gen(function* () {
          const service = yield* startService({ working: Layer.empty })
          const tenant = yield* service.makeTenant({ returnOrigins: ["http://localhost:3000"] })
          const baseUrl = `http://127.0.0.1:${service.apiPort}`
          const page = referencePage(JSON.parse(openApiText(baseUrl)), {
            baseUrl,
            apiKey: tenant.key,
            development: { returnOrigin: "http://localhost:3000" }
          })
          const samples = samplesOf(page)
          assert.deepStrictEqual(
            [...samples.keys()].filter((id) => !ORDER.includes(id)),
            []
          )
          const folder = mkdtempSync(join(tmpdir(), "svc-samples-"))
          writeFileSync(join(folder, "assertion"), yield* tenant.assertionFor())
          const terminal = openShell(shell, { PATH: `${fakeNpm(folder)}:${process.env.PATH}` })
          const steps: Readonly<Record<string, (said: string) => Effect.Effect<void>>> = {
            approve: () =>
              Effect.gen(function* () {
                const address = yield* Effect.promise(() => terminal.type('printf "%s" "<$APPROVAL_URL>"'))
                const path = /<https?:\/\/[^/]+(\/approve\/[\w-]+)>/u.exec(address)?.[1] ?? ""
                const browser = service.newBrowser()
                yield* browser.register(path)
                assert.strictEqual((yield* browser.approve(path)).status, 200)
              }),
            attempt: (said) =>
              Effect.gen(function* () {
                const { id } = JSON.parse(said.slice(said.indexOf("{"), said.lastIndexOf("}") + 1))
                const [endpoint] = (yield* tenant.get("/v1/webhook-endpoints")).data
                for (;;) {
                  const { data } = yield* tenant.get(`/v1/webhook-endpoints/${endpoint.id}/deliveries`)
                  if (
                    data.some(
                      (one: { id: string; state: string }) => one.id === id && one.state === "exhausted"
                    )
                  )
                    return
                  yield* Effect.sleep("20 millis")
                }
              })
          }
          let said = ""
          for (const id of shell === "sh" ? ORDER : SHORT_ORDER) {
            const step = steps[id]
            if (step !== undefined) {
              yield* step(said)
              continue
            }
            said = yield* Effect.promise(() => terminal.type(samples.get(id)!))
            assert.match(said, /\[done 0\]/u, id)
            assert.notMatch(said, /"request_id"|curl: \(|not found/u, id)
            if (id === "commitAuthorization") assertWithinAuthority(said)
            if (id !== "retirePasskey" && id !== "deleteWebhookEndpoint") assert.match(said, /\{"/u, id)
          }
          terminal.close()
          rmSync(folder, { recursive: true })
        }),
      TIMEOUT_MS
    )
  }
})
