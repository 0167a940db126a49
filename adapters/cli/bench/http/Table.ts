import { median, quantile, ratios, spread } from "./Statistics.ts"
import type { Cell, Figures, SystemName } from "./System.ts"

/** The figures of each cell: of each system, those of all rounds. */
export type Table = ReadonlyArray<{
  readonly cell: Cell
  readonly figures: ReadonlyMap<SystemName, Array<Figures>>
}>

const TITLES: Readonly<Record<SystemName, string>> = {
  pgbench: "pgbench, many statements",
  service: "Fastify and pg by hand",
  grouped: "the same, group commit",
  embedded: "ours without HTTP",
  ours: "ours",
  webhook: "ours, with a webhook",
  against: "ours, the other checkout"
}

const COLUMNS = [
  "pairs/s",
  "p50 ms",
  "p99 ms",
  "server ms/pair",
  "Postgres ms/pair",
  "slowest/quickest client",
  "faults"
]
const TITLE_WIDTH = 26
const COLUMN_WIDTH = 25

const line = (title: string, values: ReadonlyArray<string>): string =>
  `${title.padEnd(TITLE_WIDTH)}${values.map((value) => value.padStart(COLUMN_WIDTH)).join("")}`

const perPair = (rounds: ReadonlyArray<Figures>, secondsOf: (found: Figures) => number): string => {
  const values = rounds.map((found) => (secondsOf(found) * 1000) / found.allPairs)
  return values.some(Number.isNaN) ? "-" : spread(values, 2)
}

const row = (rounds: ReadonlyArray<Figures>): ReadonlyArray<string> => {
  const milliseconds = (part: number) =>
    spread(
      rounds.map((found) => quantile(found.milliseconds, part)),
      1
    )
  const unfairest = rounds
    .map(({ pairsOfClients }) => [Math.min(...pairsOfClients), Math.max(...pairsOfClients)] as const)
    .sort(([a, b], [c, d]) => a / b - c / d)[0]
  return [
    spread(
      rounds.map(({ pairsPerSecond }) => pairsPerSecond),
      0
    ),
    milliseconds(0.5),
    milliseconds(0.99),
    perPair(rounds, ({ serverSeconds }) => serverSeconds),
    perPair(rounds, ({ databaseSeconds }) => databaseSeconds),
    unfairest === undefined ? "-" : unfairest.join("/"),
    String(rounds.flatMap(({ faults }) => faults).reduce((sum, [, count]) => sum + count, 0))
  ]
}

const RATIO_CONNECTIONS = 32

const ratesOf = (figures: Table[number]["figures"] | undefined, name: SystemName): ReadonlyArray<number> =>
  (figures?.get(name) ?? []).map(({ pairsPerSecond }) => pairsPerSecond)

/** Ours over the other checkout, in each round. */
const against = (figures: Table[number]["figures"]): ReadonlyArray<string> =>
  figures.has("against")
    ? [
        line("ours over the other", [
          spread(ratios(ratesOf(figures, "ours"), ratesOf(figures, "against")), 2)
        ])
      ]
    : []

/** The lines that show a cell. Of the rounds, the one with the most unequal clients is shown. */
export const printCell = ({ cell, figures }: Table[number]): ReadonlyArray<string> => [
  "",
  line(`${cell.mandates}, ${cell.connections} connection${cell.connections === 1 ? "" : "s"}`, COLUMNS),
  ...[...figures].map(([name, rounds]) => line(TITLES[name], row(rounds))),
  ...against(figures)
]

/** The median over the rounds of the rate of ours over that of another, at 32 connections; `-` where one is missing. */
const ratio = (table: Table, mandates: Cell["mandates"], other: SystemName): string => {
  const figures = table.find(
    ({ cell }) => cell.mandates === mandates && cell.connections === RATIO_CONNECTIONS
  )?.figures
  const value = median(ratios(ratesOf(figures, "ours"), ratesOf(figures, other)))
  return Number.isNaN(value) ? "-" : value.toFixed(2)
}

/** The last line: ours over `pgbench` (xA1) and over the hand-written service (xB). */
export const ratioLine = (table: Table): string =>
  (["uniform", "hot"] as const)
    .map(
      (mandates) =>
        `${mandates} xA1=${ratio(table, mandates, "pgbench")} xB=${ratio(table, mandates, "service")}`
    )
    .join(" ")
