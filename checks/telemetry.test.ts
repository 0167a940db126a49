import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parser } from "@prometheus-io/lezer-promql"
import { parse } from "yaml"
import { ROOT } from "./Imports.ts"

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

const PAGE = read("docs/metrics.md")

/** What a scrape adds to every sample. */
const LABELS_OF_SCRAPES = ["instance", "job"]

/** The names under which samples are found, each with its labels. A test of a running service holds this page to what it shows. */
const SAMPLES = new Map<string, ReadonlyArray<string>>(
  [...PAGE.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|([^|]*)\|/gmu)].flatMap(
    ([, name = "", type, cell = ""]): ReadonlyArray<readonly [string, ReadonlyArray<string>]> => {
      const labels = [...cell.matchAll(/`([a-z]+)`/gu)].map(([, label = ""]) => label)
      return type === "histogram"
        ? [
            [`${name}_bucket`, [...labels, "le"]],
            [`${name}_sum`, labels],
            [`${name}_count`, labels]
          ]
        : [[name, labels]]
    }
  )
)

const METRICS = [...PAGE.matchAll(/^\| `([a-z_]+)` \| (?:counter|gauge|histogram) \|/gmu)].map(
  ([, name = ""]) => name
)

/** Grafana puts values in place of these before Prometheus sees the expression. */
const filledIn = (expression: string): string =>
  expression.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*")

/** What an expression names, by the grammar of Prometheus. */
const namedIn = (expression: string) => {
  const metrics: Array<string> = []
  const labels: Array<string> = []
  const faults: Array<string> = []
  parser.parse(expression).iterate({
    enter: ({ from, name, to, type }) => {
      const text = expression.slice(from, to)
      if (type.isError) faults.push(`${expression} has a fault at ${from}`)
      if (name === "Identifier") metrics.push(text)
      if (name === "LabelName") labels.push(text)
    }
  })
  return { metrics, labels, faults }
}

/** What is wrong with an expression. */
const faultsOf = (expression: string): ReadonlyArray<string> => {
  const { faults, labels, metrics } = namedIn(expression)
  const known = metrics.flatMap((name) => SAMPLES.get(name) ?? [])
  return [
    ...faults,
    ...metrics
      .filter((name) => name !== "up" && !SAMPLES.has(name))
      .map((name) => `no metric is named ${name}`),
    ...labels
      .filter((label) => ![...known, ...LABELS_OF_SCRAPES].includes(label))
      .map((label) => `${label} is no label in ${expression}`)
  ]
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

const rules = (): ReadonlyArray<Rule> =>
  parse(read("deploy/prometheus/alerts.yaml")).groups.flatMap(
    ({ rules: some }: { readonly rules: ReadonlyArray<Rule> }) => some
  )

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const panels = (): ReadonlyArray<Panel> => JSON.parse(read("deploy/grafana/dashboard.json")).panels

const expressions = (): ReadonlyArray<string> =>
  panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => filledIn(expr)))

describe("metrics", () => {
  it("are named by Prometheus' conventions: the base unit at the end, _total of counters alone", () => {
    assert.isAbove(METRICS.length, 20)
    const rows = [...PAGE.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|/gmu)]
    for (const [, name = "", type] of rows) {
      assert.strictEqual(name.endsWith("_total"), type === "counter", name)
      assert.match(name, /^(?:svc|process|nodejs)_[a-z]+(?:_[a-z]+)*$/u)
      assert.notMatch(name, /_(?:ms|milliseconds|minutes|kb|percent)(?:_total)?$/u)
    }
  })
})

describe("an expression that is checked", () => {
  it.each([
    ["rate(svc_decisions_total[5m])", 0],
    ["rate(svc_decision_total[5m])", 1],
    ['svc_decisions_total{reason="a"}', 1],
    ["svc_http_request_duration_seconds", 1],
    ["sum(svc_decisions_total", 1]
  ])("%s", (expression, faults) => assert.strictEqual(faultsOf(expression).length, faults))
})

describe("deploy/prometheus/alerts.yaml", () => {
  it("names metrics and labels that there are, in the grammar of Prometheus", () => {
    assert.isAbove(rules().length, 10)
    assert.deepStrictEqual(
      rules().flatMap(({ expr }) => faultsOf(expr)),
      []
    )
  })

  it("says of each alert how urgent it is, what it means, and where it is said what to do", () => {
    const headings = [...PAGE.matchAll(/^### (\w+)$/gmu)].map(([, heading = ""]) => heading)
    assert.deepStrictEqual(
      rules().map(({ alert }) => alert),
      headings
    )
    for (const { alert, annotations, for: lasting, labels } of rules()) {
      assert.include(["critical", "warning", "info"], labels.severity, alert)
      assert.match(lasting, /^\d+[mh]$/u, alert)
      assert.match(annotations.summary, /^[A-Z].+\.$/u, alert)
      assert.strictEqual(annotations.runbook, `docs/metrics.md#${alert.toLowerCase()}`)
    }
  })
})

describe("deploy/grafana/dashboard.json", () => {
  it("names metrics and labels that there are, in the grammar of Prometheus", () => {
    assert.isAbove(expressions().length, 20)
    assert.deepStrictEqual(expressions().flatMap(faultsOf), [])
  })

  it("shows every metric", () => {
    const shown = new Set(
      expressions()
        .flatMap((expression) => namedIn(expression).metrics)
        .map((name) => name.replace(/_(?:bucket|sum|count)$/u, ""))
    )
    assert.sameMembers([...shown], METRICS)
  })

  it("has panels that do not overlap, each with a number of its own", () => {
    assert.strictEqual(new Set(panels().map(({ id }) => id)).size, panels().length)
    const cells = panels().flatMap(({ gridPos: { h, w, x, y }, title }) => {
      assert.isAtMost(x + w, 24, title)
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`)
    })
    assert.strictEqual(new Set(cells).size, cells.length)
  })
})
