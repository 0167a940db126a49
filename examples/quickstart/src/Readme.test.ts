/** Every command that a newcomer pastes, from README.md and docs/webhooks.md, in each shell that they may paste it into. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))
const README = readFileSync(join(ROOT, "README.md"), "utf8")
const WEBHOOKS_PAGE = readFileSync(join(ROOT, "docs/webhooks.md"), "utf8")
const GIVE_UP_MS = 300_000

const sectionOf = (document: string, section: string): string =>
  new RegExp(`\n## ${section}\n([\\s\\S]*?)(?:\n## |$)`, "u").exec(document)?.[1] ?? ""

/** The commands of a text, block by block, without their indentation. */
const blocksOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^( *)```sh\n([\s\S]*?)\n\1```/gmu)].map(([, indentation, block = ""]) =>
    block.replaceAll(new RegExp(`^${indentation}`, "gmu"), "")
  )

const [START, QUICKSTART, ...moreOfStart] = blocksOf(sectionOf(README, "Start"))
const TOUR = blocksOf(sectionOf(README, "Tour"))
const WEBHOOKS = blocksOf(WEBHOOKS_PAGE)
const LISTEN = WEBHOOKS.at(-1) ?? ""

/**
 * Shells as one pastes into them: interactive, with nobody's settings. A tour of Node 20 or later is all they need. The first
 * runs npm itself; for the others, which are here for what they make of the same lines, its scripts are run without it.
 */
const SHELLS = [
  { name: "dash", options: ["-i"], npm: "own" },
  { name: "bash", options: ["--noprofile", "--norc", "-i"], npm: "quick" },
  { name: "zsh", options: ["-f", "-i"], npm: "quick" }
] as const

const isInstalled = (shell: string): boolean => spawnSync(shell, ["-c", ":"]).status === 0

/** What shells say of what they do not understand. */
const SHELL_FAULT =
  /not found|no matches|bad (?:pattern|substitution)|(?:parse|syntax) error|unexpected|unterminated|invalid option/iu

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** A checkout with a data folder of its own. */
const folder = mkdtempSync(join(tmpdir(), "svc-readme-"))
for (const name of ["package.json", "node_modules", "scripts", "packages", "adapters", "examples"]) {
  symlinkSync(join(ROOT, name), join(folder, name))
}

/** Runs scripts of package.json as `npm run --silent` does, without the time that npm takes. */
const quickNpm = (): string => {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8")
  )
  const cases = Object.entries(scripts).map(
    ([name, command]) => `${name}) exec ${command.replace(/^exec /u, "")} "$@" ;;`
  )
  return [
    "#!/bin/sh",
    'if [ "$1 $2" != "run --silent" ]; then exit 64; fi',
    "name=$3",
    "shift 3",
    'if [ "$1" = -- ]; then shift; fi',
    "case $name in",
    ...cases,
    "*) exit 64 ;;",
    "esac\n"
  ].join("\n")
}

const quickPrograms = join(folder, "programs")
mkdirSync(quickPrograms)
writeFileSync(join(quickPrograms, "npm"), quickNpm(), { mode: 0o755 })

/** As a terminal has it: nothing of the npm that runs the tests. */
const environment = (more: Readonly<Record<string, string>>) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/iu.test(name))),
  SVC_DATA_DIR: join(folder, ".data"),
  npm_config_update_notifier: "false",
  ...more
})

const processes: Array<ChildProcess> = []

process.once("exit", () => endAll())

/** In a process group of its own, so that whatever it starts ends with it. */
const run = (program: string, options: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(program, options, { cwd: folder, env: environment(env), detached: true, stdio: "pipe" })
  processes.push(child)
  const written = { output: "", errors: "" }
  child.stdout.on("data", (chunk) => {
    written.output += chunk
  })
  child.stderr.on("data", (chunk) => {
    written.errors += chunk
  })
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()))
  return { child, closed, written }
}

/** Also when the tests are stopped half-way. */
const endAll = (): void => {
  for (const { pid } of processes) {
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL")
    } catch (error) {
      // Nothing of it is left.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
}

/** Looks again for at most a minute: a shell that waits for ever would outlive the test. */
const until = (command: string): string =>
  `tries=0; until ${command} || [ $tries -ge 300 ]; do tries=$((tries + 1)); sleep 0.2; done`

const RECEIVING = until('curl -s -o receiving "http://localhost:$RECEIVER_PORT/"')
const DELIVERED = until("call GET /v1/webhook-endpoints/$WEBHOOK/deliveries | grep -q '\"delivered\"'")
const LISTENED = until("grep -q . listened")

/** What a reader does beside pasting: waits until the receiver has said that it receives. */
const patient = (block: string): string => block.replaceAll(/--verbose &$/gmu, `$&\n${RECEIVING}`)

const script = (): string =>
  [
    ...TOUR,
    "call GET /v1/mandates/$MANDATE | get .state",
    "call GET /v1/authorizations/$AUTH | get .state",
    ...WEBHOOKS.slice(0, -1).map(patient),
    "wait $!",
    "call GET /v1/webhook-endpoints/$WEBHOOK | get .status",
    // What runs until it is stopped is stopped once it has said something.
    `${LISTEN} > listened 2>&1 &`,
    LISTENED,
    "kill $!; wait $!",
    "printf 'all %s\\n' done",
    "exit"
  ]
    .map((block) => (block.includes("$DELIVERY/redelivery") ? `${DELIVERED}\n${block}` : block))
    .join("\n")

describe("README.md and docs/webhooks.md", () => {
  beforeAll(async () => {
    const env = { SVC_PORT: String(await freePort()), SVC_APPROVAL_PORT: String(await freePort()) }
    const { child, closed, written } = run("sh", ["-c", START ?? ""], { ...env, SVC_STORE: "memory" })
    const ready = new Promise<void>((resolve) =>
      child.stdout?.on("data", () => written.output.includes("Not for production") && resolve())
    )
    await Promise.race([ready, closed])
    assert.include(written.output, "Not for production", written.errors)
  }, GIVE_UP_MS)
  afterAll(() => {
    endAll()
    rmSync(folder, { recursive: true, force: true })
  })

  it("have the commands that are tested here, without comments, which zsh takes for arguments", () => {
    assert.deepStrictEqual([START, QUICKSTART, moreOfStart], ["npm start", "npm run quickstart", []])
    assert.isAbove(TOUR.length, 5)
    assert.lengthOf(blocksOf(README), 2 + TOUR.length)
    assert.isAbove(WEBHOOKS.length, 4)
    for (const block of [...TOUR, ...WEBHOOKS]) assert.notMatch(block, /(?:^|\s)#(?:\s|$)/mu)
  })

  it("start with a whole lifecycle", { timeout: GIVE_UP_MS }, async () => {
    const { closed, written } = run("sh", ["-c", QUICKSTART ?? ""], {})
    await closed
    assert.include(written.output, "evidence verified", written.errors)
  })

  for (const { name, npm, options } of SHELLS) {
    it.skipIf(!isInstalled(name))(`can be pasted into ${name}`, { timeout: GIVE_UP_MS }, async () => {
      const { child, closed, written } = run(name, options, {
        RECEIVER_PORT: String(await freePort()),
        ...(npm === "quick" ? { PATH: `${quickPrograms}:${process.env.PATH}` } : {})
      })
      child.stdin?.end(`${script()}\n`)
      await closed
      const { errors, output } = written
      assert.notMatch(errors, SHELL_FAULT, output)
      assert.include(output, "all done\n", errors)
      const said = [
        "PENDING_APPROVAL",
        "evidence verified",
        "\nACTIVE\n",
        "\nCOMMITTED\n",
        "test event evt_",
        "authorization.committed",
        "\ndeleted\n"
      ]
      for (const text of said) assert.include(output, text, errors)
      assert.notInclude(output, "/problems/")
      // Of the evidence: what was executed was executed within the time that was granted.
      assert.notInclude(output, "warning")
    })
  }
})
