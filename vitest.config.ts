import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "adapters/*/src/**/*.test.ts",
      "adapters/*/test/**/*.test.ts",
      "examples/*/src/**/*.test.ts",
      "checks/**/*.test.ts"
    ],
    testTimeout: 30_000
  }
})
