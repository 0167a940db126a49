import { defineConfig } from "vitest/config"

/** Files that share nothing but modules, which a worker then loads once for all of them. */
const CORE = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "adapters/{guarded-http,identity-jwt,passkey-webauthn,signer,store-memory,time-zones}/**/*.test.ts",
  "checks/**/*.test.ts"
]

/** Files that start servers, set variables of the environment or watch their own process: each has one of its own. */
const SERVICE = [
  "adapters/{cli,http-server,store-postgres}/src/**/*.test.ts",
  "adapters/{cli,http-server,store-postgres}/test/**/*.test.ts",
  "adapters/http-server/browser/**/*.test.ts",
  "examples/*/src/**/*.test.ts"
]

export default defineConfig({
  test: {
    // Many files mostly wait for processes and servers of their own: two at a time, on a machine of two cores too.
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: "core", include: CORE, testTimeout: 30_000, isolate: false } },
      { extends: true, test: { name: "service", include: SERVICE, testTimeout: 30_000 } }
    ]
  }
})
