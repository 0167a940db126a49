import { assert, describe, it } from "@effect/vitest"
import type { Cell, Figures, SystemName } from "./System.ts"
import { printCell, ratioLine } from "./Table.ts"

const figures = (pairsPerSecond: number, parts: Partial<Figures> = {}): Figures => ({
  pairsPerSecond,
  pairsOfClients: [1, 2],
  milliseconds: [1, 2, 3],
  allPairs: 100,
  serverSeconds: 0.2,
  databaseSeconds: 0.1,
  faults: [],
  ...parts
})

const rates = (cell: Cell, of: Partial<Record<SystemName, ReadonlyArray<number>>>) => ({
  cell,
  figures: new Map(
    Object.entries(of).map(([name, values]) => [name as SystemName, values.map((rate) => figures(rate))])
  )
})

describe("Table", () => {
  it("the last line has the medians of the ratios within rounds, at 32 connections", () => {
    const table = [
      rates({ mandates: "uniform", connections: 8 }, { pgbench: [1], service: [1], ours: [9] }),
      rates(
        { mandates: "uniform", connections: 32 },
        { pgbench: [100, 10, 50], service: [20, 10, 5], ours: [100, 20, 25] }
      ),
      rates({ mandates: "hot", connections: 32 }, { pgbench: [50], service: [10], ours: [125] })
    ]
    assert.strictEqual(ratioLine(table), "uniform xA1=1.00 xB=5.00 hot xA1=2.50 xB=12.50")
  })

  it("the last line has a dash for what was not measured", () => {
    const table = [rates({ mandates: "uniform", connections: 32 }, { service: [2], ours: [3] })]
    assert.strictEqual(ratioLine(table), "uniform xA1=- xB=1.50 hot xA1=- xB=-")
  })

  it("a row shows time for each pair, the most unequal clients, and the sum of faults", () => {
    const rounds = [
      figures(10, { pairsOfClients: [3, 4], faults: [["503", 2]] }),
      figures(20, { pairsOfClients: [1, 9], faults: [["409", 1]] })
    ]
    const lines = printCell({
      cell: { mandates: "hot", connections: 2 },
      figures: new Map([["ours", rounds]])
    })
    assert.deepStrictEqual(lines.at(-1)?.split(/ {2,}/u), [
      "ours",
      "15 (10-20)",
      "2.0",
      "3.0",
      "2.00",
      "1.00",
      "1/9",
      "3"
    ])
  })
})
