import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { loggerLayer, makeFaultLog } from "./ServiceLog.ts"

it("the log on the console has warnings and errors, a line each, with what is known of them", () => {
  const lines: Array<string> = []
  const errors = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(line))
  const warnings = vi.spyOn(console, "warn").mockImplementation((line) => void lines.push(line))
  try {
    makeFaultLog()("the store cannot be opened")
    const program = Effect.gen(function* () {
      yield* Effect.logInfo("nothing to say")
      yield* Effect.logWarning("slow").pipe(Effect.annotateLogs({ mandate_id: "mnd_1" }))
    })
    Effect.runSync(program.pipe(Effect.provide(loggerLayer())))
  } finally {
    errors.mockRestore()
    warnings.mockRestore()
  }
  assert.deepStrictEqual(lines, ["svc: the store cannot be opened", 'svc: slow {"mandate_id":"mnd_1"}'])
})
