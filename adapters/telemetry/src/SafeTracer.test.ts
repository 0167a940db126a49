import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Effect, Exit, Tracer } from "effect"
import { MAX_STATEMENT_LENGTH, STATUS, safeTracer } from "./SafeTracer.ts"
import type { TraceSampler } from "./TraceSampler.ts"

const SECRET = "a secret that a message quotes"

/** Runs a program, and gives the sampled spans that have ended, by name. */
const spansOf = Effect.fnUntraced(function* (
  program: Effect.Effect<unknown, unknown>,
  { isBehind = false, sampler = () => true }: { isBehind?: boolean; sampler?: TraceSampler } = {}
) {
  const spans: Array<Tracer.NativeSpan> = []
  const inner = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const tracer = safeTracer(inner, sampler, () => isBehind)
  yield* Effect.exit(Effect.provideService(program, Tracer.Tracer, tracer))
  return spans.filter(({ sampled, status }) => sampled && status._tag === "Ended")
})

const request = (program: Effect.Effect<unknown, unknown>) =>
  Effect.withSpan(program, "request", { kind: "server" })

const exitOf = (span: Tracer.NativeSpan | undefined) =>
  span?.status._tag === "Ended" ? span.status.exit : Exit.die("it goes on")

describe("a tracer whose spans leave the process", () => {
  for (const [name, failing] of [
    ["StoreUnavailable", Effect.fail(new StoreUnavailable({ cause: SECRET }))],
    ["TypeError", Effect.fail(new TypeError(SECRET))],
    ["Failure", Effect.fail(SECRET)],
    ["Defect", Effect.die(new Error(SECRET))]
  ] as const) {
    it.effect(`tells of a failure that it is a ${name}, and not what it says`, () =>
      Effect.gen(function* () {
        const [span] = yield* spansOf(request(failing))
        const exit = exitOf(span)
        assert.isTrue(Exit.isFailure(exit))
        assert.include(inspect(exit, { depth: 20 }), name)
        assert.notInclude(inspect(exit, { depth: 20, showHidden: true }), SECRET)
      })
    )
  }

  it.effect("takes a request that is answered with 500 or more for a failure", () =>
    Effect.gen(function* () {
      const answered = (status: number) => request(Effect.annotateCurrentSpan(STATUS, status))
      const [unavailable] = yield* spansOf(answered(503))
      const [refused] = yield* spansOf(answered(404))
      assert.isTrue(Exit.isFailure(exitOf(unavailable)))
      assert.isTrue(Exit.isSuccess(exitOf(refused)))
    })
  )

  it.effect("cuts long statements", () =>
    Effect.gen(function* () {
      const text = `select\n  1${", 2".repeat(MAX_STATEMENT_LENGTH)}`
      const [span] = yield* spansOf(request(Effect.annotateCurrentSpan("db.query.text", text)))
      const kept = String(span?.attributes.get("db.query.text"))
      assert.strictEqual(kept.length, MAX_STATEMENT_LENGTH)
      assert.isTrue(kept.startsWith("select 1, 2"))
    })
  )

  it.effect("begins traces with requests and with what asks for one, which its children join", () =>
    Effect.gen(function* () {
      const child = Effect.withSpan(Effect.void, "child")
      assert.deepStrictEqual(yield* spansOf(child), [])
      const names = (spans: ReadonlyArray<Tracer.NativeSpan>) => spans.map(({ name }) => name).sort()
      assert.deepStrictEqual(names(yield* spansOf(request(child))), ["child", "request"])
      assert.deepStrictEqual(names(yield* spansOf(Effect.withSpan(child, "attempt", { root: true }))), [
        "attempt",
        "child"
      ])
    })
  )

  it.effect("begins none that is not sampled, and none while exports pile up", () =>
    Effect.gen(function* () {
      const program = request(Effect.withSpan(Effect.void, "child"))
      assert.deepStrictEqual(yield* spansOf(program, { sampler: () => false }), [])
      assert.deepStrictEqual(yield* spansOf(program, { isBehind: true }), [])
    })
  )

  it.effect("asks the sampler by the trace of the caller", () =>
    Effect.gen(function* () {
      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
      const parent = Tracer.externalSpan({ traceId, spanId: "00f067aa0ba902b7", sampled: false })
      const asked: Array<unknown> = []
      const sampler: TraceSampler = (start) => {
        asked.push(start)
        return true
      }
      const spans = yield* spansOf(Effect.withSpan(Effect.void, "request", { kind: "server", parent }), {
        sampler
      })
      assert.deepStrictEqual(asked, [{ traceId, parentSampled: false }])
      assert.deepStrictEqual(
        spans.map((span) => span.traceId),
        [traceId]
      )
    })
  )
})
