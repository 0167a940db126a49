import { inspect } from "node:util"
import { Cause, Exit, Layer, Tracer } from "effect"

/** Spans as text: names, attributes, events, and the failures that they ended with. What succeeds is not told. */
export const tracerTo = (spans: Array<string>): Layer.Layer<never> => {
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const end = span.end.bind(span)
      span.end = (at, exit) => {
        end(at, exit)
        const attributes = [...span.attributes].map(([name, value]) => `${name}=${String(value)}`)
        const events = span.events.map(([name, , more]) => `${name} ${inspect(more, { depth: 20 })}`)
        const failure = Exit.isFailure(exit)
          ? [Cause.pretty(exit.cause), inspect(exit.cause, { depth: 20 })]
          : []
        spans.push([span.name, ...attributes, ...events, ...failure].join(" | "))
      }
      return span
    }
  })
  return Layer.succeed(Tracer.Tracer)(tracer)
}
