import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { freePort, openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { inject } from "vitest"
import { ROOT } from "../../checks/Imports.ts"
import { EXAMPLES } from "./Examples.ts"
import { environment } from "./InstalledPackages.ts"

/** Longest that an example's tests may run, in milliseconds. */
const RUN_MS = 200_000

/** Most lines that a Node developer writes to mount the service. */
const MOUNT_LINES = 10

/** What each example that embeds the service shows first. */
const MOUNTS = [
  "embed-in-express/src/mounted.ts",
  "embed-in-nest/src/mounted.ts",
  "next-route-handlers/src/app/api/[[...path]]/route.ts",
  "next-route-handlers/src/app/approvals/[[...path]]/route.ts"
]

const { folder } = inject("installed")
const placeOf = (example: string) => join(folder, example)

const database = await openTestDatabase()
const hasDatabase = database !== undefined

afterAll(() => database?.stop())

/** Starts a program in the folder of an example, in a group of processes that `end` ends, and collects what it prints. */
const start = (
  example: string,
  args: ReadonlyArray<string>,
  settings: Readonly<Record<string, string>> = {}
) => {
  const child = spawn("npm", args, {
    cwd: placeOf(example),
    env: { ...environment(), ...(hasDatabase ? { DATABASE_URL: database.url } : {}), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true
  })
  let printed = ""
  const endGroup = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM")
  }
  process.once("exit", endGroup)
  const closed = once(child, "close").finally(() => process.off("exit", endGroup))
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text
      for (const look of waiting) look()
    })
  }
  return {
    /** How it ended, with all that it printed. */
    ended: closed.then(([code]) => ({ code, printed })),
    /** Resolves when it has printed a text, or has ended. */
    until: (text: string): Promise<unknown> =>
      Promise.race([
        closed,
        new Promise<void>((resolve) => {
          const look = () => {
            if (printed.includes(text)) resolve()
          }
          waiting.add(look)
          look()
        })
      ]),
    printed: () => printed,
    end: async () => {
      endGroup()
      await closed
    }
  }
}

const runToEnd = async (example: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const { code, printed } = await start(example, args).ended
  assert.strictEqual(code, 0, printed)
  return printed
}

const passed = (printed: string): number => Number(/^\D* pass (\d+)$/mu.exec(printed)?.[1])

beforeAll(() => {
  for (const example of EXAMPLES) {
    cpSync(join(ROOT, "examples", example), placeOf(example), {
      recursive: true,
      filter: (path) => !/[\\/](?:node_modules|dist|\.next)$/u.test(path)
    })
  }
})

// Each has a folder and a process of its own.
describe.concurrent.each(EXAMPLES)("examples/%s", (example) => {
  const needsDatabase = example === "embed-in-fastify"

  it("compiles", async () => {
    await runToEnd(example, "run", "typecheck")
  })

  it.skipIf(needsDatabase && !hasDatabase)("passes its tests", { timeout: RUN_MS }, async () => {
    const printed = await runToEnd(example, "test")
    assert.isAbove(passed(printed), 2, printed)
    assert.match(printed, /^\D* skipped 0$/mu)
  })
})

describe("npm start", () => {
  const served = ["embed-in-express", "embed-in-fastify", "embed-in-nest"]

  for (const example of served.filter((name) => hasDatabase || name !== "embed-in-fastify")) {
    it(`serves the shop of ${example} and the service, until it is told to end`, async () => {
      const port = String(await freePort())
      const shop = start(example, ["start"], { PORT: port })
      try {
        await shop.until(`the shop is at http://localhost:${port}`)
        for (const path of ["/", "/mandates/healthz", "/approvals/"]) {
          const { status } = await fetch(`http://localhost:${port}${path}`).catch((error: unknown) => {
            throw new Error(`${path} is not served:\n${shop.printed()}`, { cause: error })
          })
          assert.deepStrictEqual([path, status], [path, 200])
        }
      } finally {
        await shop.end()
      }
    })
  }

  it("shows how the agent is killed and comes up again", async () => {
    const printed = await runToEnd("client-agent", "start")
    assert.match(printed, /order-1: paid/u)
    assert.match(printed, /order-2: paid/u)
    assert.match(printed, /has made 2 payments/u)
    assert.match(printed, /counts 6100 cents as spent, and has 0 reserved/u)
  })
})

describe("the READMEs of the examples", () => {
  it("show code of their sources alone", () => {
    for (const example of EXAMPLES) {
      const readme = readFileSync(join(ROOT, "examples", example, "README.md"), "utf8")
      const blocks = [...readme.matchAll(/^```ts source=(\S+)\n(.*?)^```$/gmsu)]
      assert.isNotEmpty(blocks, example)
      for (const [, source = "", text = ""] of blocks) {
        const code = readFileSync(join(ROOT, "examples", example, source), "utf8")
        assert.isTrue(code.includes(text.trim()), `${example} does not hold:\n${text}`)
      }
    }
  })

  it("mount the service in at most ten lines", () => {
    for (const source of MOUNTS) {
      const lines = readFileSync(join(ROOT, "examples", source), "utf8").split("\n")
      assert.isAtMost(lines.filter((line) => line.trim() !== "").length, MOUNT_LINES, source)
    }
  })
})
