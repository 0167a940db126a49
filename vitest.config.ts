import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { LongestFirst } from "./scripts/LongestFirst.ts"

/** Files that start no server, no program and no database. */
const CORE = [
  "packages/!(svc)/src/**/*.test.ts",
  "packages/!(svc)/test/**/*.test.ts",
  "packages/*/browser/**/*.test.ts",
  "adapters/!(cli|http-server|store-postgres)/**/*.test.ts",
  "adapters/cli/bench/**/*.test.ts",
  "checks/**/*.test.ts"
]

/** Files on Postgres, a server's or an embedded one: each has a database of its own. */
const STORES = ["adapters/store-postgres/{src,test}/**/*.test.ts"]

/** Files that drive a real browser. */
const BROWSER = ["adapters/cli/test/browser/**/*.test.ts"]

/** Files on how packages are published: they pack them and install them elsewhere. */
const PACKAGES = ["scripts/pack/**/*.test.ts"]

/** Files that start servers and programs, and what is read by them. */
const SERVICE = [
  "packages/svc/src/**/*.test.ts",
  "adapters/*/{src,test,browser}/**/*.test.ts",
  "examples/*/src/**/*.test.ts"
]

/** Longest that a test, or what it sets up, may take unless it says otherwise. */
const TIMEOUT_MILLISECONDS = 120_000

/** Files at a time on a machine of two cores: as many as there are cores, more where they mostly wait for a browser or for npm. */
const WORKERS = { stores: 2, browser: 3, service: 2, packages: 3, core: 2 } as const

/** A worker that changes from one project to another starts anew, so that projects run one after another. */
const project = (
  name: keyof typeof WORKERS,
  more: TestProjectInlineConfiguration["test"]
): TestProjectInlineConfiguration => ({
  extends: true,
  test: {
    name,
    maxWorkers: WORKERS[name],
    sequence: { groupOrder: Object.keys(WORKERS).indexOf(name) },
    ...more
  }
})

const DATABASES = "./adapters/store-postgres/test/SharedDatabases.ts"

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./scripts/FailedTests.ts"],
    // A machine that is busy with other things takes many times as long; nothing is asserted on time.
    testTimeout: TIMEOUT_MILLISECONDS,
    hookTimeout: TIMEOUT_MILLISECONDS,
    teardownTimeout: TIMEOUT_MILLISECONDS,
    // Files share nothing but modules, which a worker loads once for all of them: what one sets it takes back.
    isolate: false,
    projects: [
      project("core", { include: CORE }),
      project("stores", { include: STORES, globalSetup: DATABASES }),
      project("packages", { include: PACKAGES, globalSetup: "./scripts/pack/SharedInstallation.ts" }),
      project("browser", { include: BROWSER }),
      project("service", {
        include: SERVICE,
        exclude: ["**/node_modules/**", ...CORE, ...STORES, ...BROWSER],
        globalSetup: DATABASES
      })
    ]
  }
})
