import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "adapters/*/src/**/*.test.ts",
      "adapters/*/test/**/*.test.ts",
      "adapters/*/browser/**/*.test.ts",
      "examples/*/src/**/*.test.ts",
      "checks/**/*.test.ts"
    ],
    testTimeout: 30_000,
    // Many files mostly wait for processes and servers of their own: two at a time, on a machine of two cores too.
    maxWorkers: 2
  }
})
