import { defineConfig } from "vitest/config"
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

const DATABASES = "./adapters/store-postgres/test/SharedDatabases.ts"

export default defineConfig({
  test: {
    // Many files mostly wait for processes and servers of their own: two at a time, on a machine of two cores too.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./scripts/FailedTests.ts"],
    // A machine that is busy with other things takes many times as long; nothing is asserted on time.
    testTimeout: TIMEOUT_MILLISECONDS,
    hookTimeout: TIMEOUT_MILLISECONDS,
    teardownTimeout: TIMEOUT_MILLISECONDS,
    // Files share nothing but modules, which a worker loads once for all of them: what one sets it takes back.
    isolate: false,
    projects: [
      { extends: true, test: { name: "core", include: CORE } },
      { extends: true, test: { name: "stores", include: STORES, globalSetup: DATABASES } },
      {
        extends: true,
        test: { name: "packages", include: PACKAGES, globalSetup: "./scripts/pack/SharedInstallation.ts" }
      },
      { extends: true, test: { name: "browser", include: BROWSER } },
      {
        extends: true,
        test: {
          name: "service",
          include: SERVICE,
          exclude: ["**/node_modules/**", ...CORE, ...STORES, ...BROWSER],
          globalSetup: DATABASES
        }
      }
    ]
  }
})
