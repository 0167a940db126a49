import { Context, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"

/**
 * Most series of one family. Label values are taken from closed sets, so this is not reached; if it were, further
 * combinations would be counted together under `OVERFLOW`.
 */
export const MAX_SERIES = 2000
/** The value of every label in the series that takes what exceeds `MAX_SERIES`. */
export const OVERFLOW = "other"

/** The media type of Prometheus' text format. */
export const PROMETHEUS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

/** Label values, in the order in which the family names its labels. */
type Labels = ReadonlyArray<string>

export interface CounterFamily {
  readonly add: (amount: number, ...labels: Labels) => void
  /** Makes a series whose value is read whenever the metrics are. */
  readonly read: (count: () => number, ...labels: Labels) => void
}

export interface GaugeFamily {
  readonly set: (value: number, ...labels: Labels) => void
  /** Adds to the value, which starts at 0. */
  readonly add: (amount: number, ...labels: Labels) => void
  /** Makes a series whose value is read whenever the metrics are. */
  readonly read: (value: () => number, ...labels: Labels) => void
  /** Removes the series until it is set again, since an old value would be mistaken for the present one. */
  readonly remove: (...labels: Labels) => void
}

export interface HistogramFamily {
  readonly observe: (value: number, ...labels: Labels) => void
}

/** What a family is: its name and unit by Prometheus' conventions, its description, and the names of its labels. */
export interface FamilyOptions {
  readonly help: string
  readonly labels?: ReadonlyArray<string>
  /** Series that exist from the start, at 0. By default the only one of a family without labels. */
  readonly from?: ReadonlyArray<Labels>
}

/** The metrics of one process. */
export interface MetricFamilies {
  readonly counter: (name: string, options: FamilyOptions) => CounterFamily
  readonly gauge: (name: string, options: FamilyOptions) => GaugeFamily
  readonly histogram: (
    name: string,
    options: FamilyOptions & { readonly boundaries: ReadonlyArray<number> }
  ) => HistogramFamily
  /** All series in Prometheus' text format. */
  readonly exposition: () => string
  /** Provides the registry of these metrics. */
  readonly context: Context.Context<never>
}

type Attributes = Readonly<Record<string, string>>

/** The series of a family, each made when it is first used. */
const seriesOf = <Series>(
  { from, labels: names = [] }: FamilyOptions,
  make: (attributes: Attributes) => Series
): ((labels: Labels) => Series) => {
  const known = new Map<string, Series>()
  const find = (labels: Labels): Series => {
    const key = labels.join("\0")
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= MAX_SERIES && !labels.every((label) => label === OVERFLOW)) {
      return find(names.map(() => OVERFLOW))
    }
    const series = make(Object.fromEntries(names.map((name, at) => [name, labels[at] ?? ""])))
    known.set(key, series)
    return series
  }
  for (const labels of from ?? (names.length === 0 ? [[]] : [])) find(labels)
  return find
}

/** An empty registry of metrics. */
export const makeMetricFamilies = (): MetricFamilies => {
  const context = Context.make(Metric.MetricRegistry, new Map())

  /** A metric whose series is in the registry before its first update. */
  const registered = <Input, State>(metric: Metric.Metric<Input, State>): Metric.Metric<Input, State> => {
    metric.valueUnsafe(context)
    return metric
  }

  const optionsOf = ({ help }: FamilyOptions, attributes: Attributes) => ({ description: help, attributes })

  const readOnly = { update: () => {}, modify: () => {} }

  return {
    context,
    exposition: () => PrometheusMetrics.formatUnsafe(context),
    counter: (name, options) => {
      const series = seriesOf(options, (attributes) =>
        registered(Metric.counter(name, { ...optionsOf(options, attributes), incremental: true }))
      )
      return {
        add: (amount, ...labels) => series(labels).updateUnsafe(amount, context),
        read: (count, ...labels) => {
          const get = () => ({ count: count(), incremental: true })
          Metric.registerUnsafe(series(labels), context, { get, ...readOnly })
        }
      }
    },
    gauge: (name, options) => {
      const series = seriesOf(options, (attributes) =>
        registered(Metric.gauge(name, optionsOf(options, attributes)))
      )
      return {
        set: (value, ...labels) => series(labels).updateUnsafe(value, context),
        add: (amount, ...labels) => series(labels).modifyUnsafe(amount, context),
        read: (value, ...labels) => {
          const get = () => ({ value: value() })
          Metric.registerUnsafe(series(labels), context, { get, ...readOnly })
        },
        remove: (...labels) => Metric.removeUnsafe(series(labels), context)
      }
    },
    histogram: (name, { boundaries, ...options }) => {
      const series = seriesOf(options, (attributes) =>
        registered(Metric.histogram(name, { ...optionsOf(options, attributes), boundaries }))
      )
      return { observe: (value, ...labels) => series(labels).updateUnsafe(value, context) }
    }
  }
}
