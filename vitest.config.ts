import { defineConfig } from "vitest/config"

/** Files that share nothing but modules, which a worker then loads once for all of them. */
const CORE = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "adapters/{identity-jwt,passkey-webauthn,signer,store-memory,time-zones,webhook-http}/**/*.test.ts",
  "checks/**/*.test.ts"
]

/** Files on Postgres, a server's or an embedded one: each has a database of its own. */
const STORES = ["adapters/store-postgres/{src,test}/**/*.test.ts"]

/** Files that drive a real browser. */
const BROWSER = ["adapters/http-server/test/browser/**/*.test.ts"]

/** Files that start servers, set variables of the environment or watch their own process: each has one of its own. */
const SERVICE = ["adapters/*/{src,test,browser}/**/*.test.ts", "examples/*/src/**/*.test.ts"]

const DATABASES = "./adapters/store-postgres/test/SharedDatabases.ts"

export default defineConfig({
  test: {
    // Many files mostly wait for processes and servers of their own: two at a time, on a machine of two cores too.
    maxWorkers: 2,
    testTimeout: 30_000,
    projects: [
      { extends: true, test: { name: "core", include: CORE, isolate: false } },
      { extends: true, test: { name: "stores", include: STORES, globalSetup: DATABASES } },
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
