import { assert, describe, it } from "@effect/vitest"
import { Organizations } from "@svc/domain/ports/Organizations"
import { layer as pgliteStore } from "@svc/store-postgres/PgliteStore"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { freePort } from "@svc/store-postgres/test/TestPostgres"
import { harnessOrganization } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { ConfigProvider, Console, Effect, Fiber } from "effect"
import { svc } from "./SvcCommand.ts"

const TIMEOUT_MILLISECONDS = 120_000
const POLL = "20 millis"

interface Line {
  readonly level: string
  readonly message: string
  readonly environment?: string
  readonly organizations?: number
}

const makeOrganization = (folder: string, environment: "test" | "live") =>
  Effect.flatMap(Organizations, (port) =>
    port.put(harnessOrganization({ id: newIdentifier("org_"), environment }))
  ).pipe(Effect.provide(pgliteStore({ folder })))

/** Starts `svc serve` in the live environment, stops it once it serves, and gives what it logged. */
const served = Effect.fnUntraced(function* (folder: string) {
  const lines: Array<Line> = []
  const kept: Console.Console = { ...console, log: (text: string) => lines.push(JSON.parse(text)) }
  const env = {
    SVC_ENVIRONMENT: "live",
    SVC_STORE: `pglite:${folder}`,
    SVC_BASE_URL: "https://api.example.com",
    SVC_APPROVAL_BASE_URL: "https://approve.example.com",
    SVC_MASTER_KEY: "A".repeat(43),
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(yield* Effect.promise(freePort)),
    SVC_APPROVAL_PORT: String(yield* Effect.promise(freePort))
  }
  const serving = yield* svc(["serve"]).run.pipe(
    Effect.provideService(Console.Console, kept),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.forkChild
  )
  const isServing = Effect.repeat(Effect.sleep(POLL), {
    until: () => lines.some(({ message }) => message === "serving")
  })
  yield* Effect.raceFirst(isServing, Fiber.join(serving))
  yield* Fiber.interrupt(serving)
  return lines
})

const warnings = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> =>
  lines.filter(({ level }) => level === "warn")

describe("svc serve", () => {
  it.live(
    "warns where every organization of the database is of another environment",
    () =>
      Effect.gen(function* () {
        const folder = yield* preparedPglite
        // So a deployment begins, and so does one whose SVC_STORE is mistyped.
        const lines = yield* served(folder)
        assert.deepStrictEqual(warnings(lines), [])
        const empty = /^the database has no organization, .* see that SVC_STORE names the right database$/u
        assert.lengthOf(
          lines.filter(({ level, message }) => level === "info" && empty.test(message)),
          1
        )
        yield* makeOrganization(folder, "test")
        const [warning, ...others] = warnings(yield* served(folder))
        assert.deepStrictEqual(others, [])
        assert.deepInclude(warning, { environment: "live" })
        assert.match(
          warning?.message ?? "",
          /^no organization of the database is of the environment live, .* svc organization create/u
        )
        yield* makeOrganization(folder, "live")
        const all = yield* served(folder)
        assert.deepStrictEqual(warnings(all), [])
        assert.isFalse(all.some(({ message }) => empty.test(message)))
      }).pipe(Effect.scoped),
    TIMEOUT_MILLISECONDS
  )
})
