import { assert, describe, it } from "@effect/vitest"
import { type Stale, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { ConformanceReport } from "@svc/testkit/StoreConformance"
import type { PortName } from "@svc/testkit/store-contract/PortNames"
import { promiseMemory } from "../../test/PromiseMemory.ts"
import type { PromiseStore } from "../PromiseStore.ts"
import { checkStore, type MakeStore, type StoreTime, storeContract } from "./StoreContract.ts"

/** A runner whose tests the test itself runs. */
const makeRunner = () => {
  const tests: Array<() => Promise<void>> = []
  const ends: Array<() => Promise<void>> = []
  return {
    tests,
    ends,
    describe: (_name: string, define: () => void) => define(),
    it: (_name: string, run: (context: unknown) => Promise<void>) => tests.push(() => run({})),
    after: (run: () => Promise<void>) => ends.push(run)
  }
}

/** What an ORM might answer with: an instance of a class. */
class Appended {
  readonly revision: number

  constructor({ revision }: { readonly revision: number }) {
    this.revision = revision
  }
}

const failedTitles = ({ cases }: Awaited<ReturnType<typeof checkStore>>) =>
  cases.filter(({ outcome }) => outcome === "failed").map(({ title }) => title)

describe("the contract of stores", () => {
  it("is kept by a store with promises that keeps it, port by port and as plain data", async () => {
    const only = ["DueLeases", "MandateStore", "Organizations", "StoreCleaning", "StoreHealth"] as const
    const report = await checkStore("memory", promiseMemory, { only })
    assert.deepStrictEqual(failedTitles(report), [])
    assert.isTrue(report.conforms)
    assert.isAbove(report.cases.length, 100)
    assert.deepStrictEqual(Object.keys(report.ports).sort(), [...only])
    assert.deepStrictEqual(JSON.parse(JSON.stringify(report)), report)
  })

  it("says which rules a store breaks", async () => {
    const report = await checkStore(
      "without claims",
      async (time) => {
        const store = await promiseMemory(time)
        const { append } = store.mandates
        return {
          ...store,
          mandates: { ...store.mandates, append: (change) => append({ ...change, claims: [] }) }
        }
      },
      { only: ["MandateStore"] }
    )
    assert.isFalse(report.conforms)
    assert.include(failedTitles(report).join("\n"), "claim")
    assert.deepStrictEqual(Object.keys(report.ports), ["MandateStore"])
  })

  it("leaves out what a store does not bring, and says which port that is", async () => {
    const report = await checkStore(
      "keys",
      async (time) => ({ organizations: (await promiseMemory(time)).organizations }),
      { only: ["Organizations", "EventFeed"] }
    )
    assert.isAbove(report.ports.Organizations?.passed ?? 0, 2)
    assert.strictEqual(report.ports.EventFeed?.passed, 0)
    assert.isFalse(report.conforms)
    const [skipped] = report.cases.filter(({ outcome }) => outcome === "skipped")
    assert.match(skipped?.detail ?? "", /the store does not bring/u)
    const unasked = await checkStore("nothing", () => ({}))
    assert.isFalse(unasked.conforms)
    assert.strictEqual(unasked.ports.MandateStore?.passed, 0)
    assert.deepStrictEqual(unasked.ports.StoreHealth, { passed: 0, failed: 0, skipped: 1, untried: 0 })
  })

  it("finds a store conforming without optional ports, unless they were asked for", async () => {
    const conformsWith = async (parts: ReadonlyArray<keyof PromiseStore>, only?: ReadonlyArray<PortName>) => {
      const make = async (time: StoreTime) => {
        const store = await promiseMemory(time)
        return Object.fromEntries(parts.map((part) => [part, store[part]]))
      }
      return (await checkStore("some", make, only === undefined ? {} : { only })).conforms
    }
    const required = ["mandates", "subjects", "due", "feed", "webhooks", "organizations"] as const
    assert.isTrue(await conformsWith([...required, "cleaning", "health"]))
    assert.isTrue(await conformsWith(required))
    assert.isFalse(await conformsWith(required.slice(1)))
    // Its rules need the mandates, so that none of them could be tried.
    assert.isFalse(await conformsWith(["cleaning"], ["StoreCleaning"]))
    assert.isFalse(await conformsWith(required, ["StoreCleaning"]))
    assert.isFalse(await conformsWith(required, ["Organizations", "StoreHealth"]))
  })

  it("counts the rules that a runner was told to leave out as not tried", async () => {
    const runner = makeRunner()
    const reports: Array<ConformanceReport> = []
    storeContract("memory", promiseMemory, {
      only: ["Organizations"],
      report: (report) => reports.push(report),
      runner
    })
    const [first, ...others] = runner.tests
    await first?.()
    for (const end of runner.ends) await end()
    const { cases, conforms, ports } = reports[0]!
    assert.isFalse(conforms)
    assert.deepStrictEqual(ports, {
      Organizations: { passed: 1, failed: 0, skipped: 0, untried: others.length }
    })
    assert.deepStrictEqual(
      cases.map(({ outcome }) => outcome),
      ["passed", ...others.map(() => "untried")]
    )
  })

  it("finds a rule broken that failed once, even if a runner tries again and it passes", async () => {
    const runner = makeRunner()
    const reports: Array<ConformanceReport> = []
    let calls = 0
    const flaky = async (time: StoreTime): Promise<PromiseStore> => {
      const store = await promiseMemory(time)
      const put: typeof store.organizations.put = async (...given) => {
        calls += 1
        if (calls === 1) throw new Error("lost")
        return store.organizations.put(...given)
      }
      return { ...store, organizations: { ...store.organizations, put } }
    }
    storeContract("flaky", flaky, {
      only: ["Organizations"],
      report: (report) => reports.push(report),
      runner
    })
    const failures: Array<unknown> = []
    for (const test of runner.tests) {
      await test().catch(async (error: unknown) => {
        failures.push(error)
        await test()
      })
    }
    for (const end of runner.ends) await end()
    assert.lengthOf(failures, 1)
    assert.strictEqual(reports[0]?.conforms, false)
    assert.strictEqual(reports[0]?.ports.Organizations?.failed, 1)
  })

  it("throws what is wrong with its options, and names the ports", async () => {
    const runner = makeRunner()
    const faultOf = (options: object, makeStore: unknown = promiseMemory): string => {
      try {
        storeContract("memory", makeStore as MakeStore, { runner, ...options })
        return "nothing"
      } catch (error) {
        return String(error)
      }
    }
    const ports =
      "MandateStore, SubjectStore, DueLeases, EventFeed, WebhookStore, Organizations, StoreCleaning, StoreHealth"
    assert.strictEqual(
      faultOf({ only: ["mandates", "StoreHealth"] }),
      `TypeError: storeContract: only names "mandates", which is no port; the ports are ${ports}.`
    )
    assert.strictEqual(
      faultOf({ only: ["StoreHealt"] }),
      `TypeError: storeContract: only names "StoreHealt", which is no port; was StoreHealth meant?`
    )
    for (const only of [[], "MandateStore"])
      assert.strictEqual(
        faultOf({ only }),
        `TypeError: storeContract: only must be a list of at least one port; the ports are ${ports}.`
      )
    assert.include(faultOf({ clock: "real" }), `clock must be "test" or "live".`)
    assert.include(faultOf({ report: true }), "report must be the path of a file, or a function.")
    assert.include(faultOf({ runner: {} }), 'import * as vitest from "vitest"')
    assert.include(faultOf({ ports: ["MandateStore"] }), `there is no option "ports"`)
    assert.include(faultOf({}, {}), "makeStore must be a function that returns the store.")
    assert.deepStrictEqual(runner.tests, [])
    const checked = await checkStore("memory", promiseMemory, { only: [] }).catch(String)
    assert.include(String(checked), "checkStore: only must be a list")
  })

  it("says of a function that makes no store that it does not", async () => {
    const { cases } = await checkStore("nothing", (() => undefined) as never, { only: ["StoreHealth"] })
    assert.deepStrictEqual(
      cases.map(({ detail }) => detail),
      ["TypeError: makeStore returned undefined, and not a store: an object with a part for each port"]
    )
  })

  it("says what was expected of an operation, what came instead, and what was asked last", async () => {
    /** What the contract says of a store whose appends end in another way, by title. */
    const detailsWith = async (end: (answer: Promise<{ readonly revision: number }>) => Promise<unknown>) => {
      const { cases } = await checkStore(
        "memory",
        async (time) => {
          const { mandates, ...store } = await promiseMemory(time)
          const append = (change: Parameters<typeof mandates.append>[0]) =>
            end(Promise.resolve(mandates.append(change))) as Promise<{ readonly revision: number }>
          return { ...store, mandates: { ...mandates, append } }
        },
        { only: ["MandateStore"] }
      )
      return new Map(cases.map(({ detail = "", title }) => [title, detail.split("\n")]))
    }
    const stale = "is Stale when it expects a stream that is absent"
    const endless = "dies of changes that hold a reservation that never expires, and records nothing"

    const accepting = await detailsWith((answer) => answer.catch(() => ({ revision: 3 })))
    const [first, second, ...calls] = accepting.get(stale) ?? []
    assert.strictEqual(first, "Error: append was to be refused with Stale, but answered { revision: 3 }")
    assert.strictEqual(second, "the last operations were:")
    assert.match(
      calls.at(-1) ?? "",
      /^- MandateStore\.append\(\{ organization: .+\) answered \{ revision: 3 \}$/u
    )
    assert.strictEqual(
      accepting.get(endless)?.[0],
      "Error: append was to reject with an error that is no refusal, as for a fault: the change would hold a reservation that never expires; it answered { revision: 3 }"
    )

    const plain = await detailsWith((answer) =>
      answer.catch(({ _tag }: Stale) => Promise.reject(new Error(_tag)))
    )
    assert.strictEqual(
      plain.get(stale)?.[0],
      "Error: append was to be refused with Stale, but rejected with Error: Stale; the port's refusal is `new Stale()` of svc/store"
    )

    const gone = () => Promise.reject(new StoreUnavailable({ cause: "gone" }))
    const unavailable = await detailsWith((answer) => answer.then(gone, gone))
    assert.strictEqual(
      unavailable.get(stale)?.[0],
      "Error: append was to be refused with Stale, but was with StoreUnavailable"
    )
    assert.strictEqual(
      unavailable.get("takes several events at once")?.[0],
      "Error: an operation was refused with StoreUnavailable"
    )

    const copied = await detailsWith(async (answer) => new Appended(await answer))
    assert.match(
      copied.get("takes several events at once")?.[0] ?? "",
      /^Error: the answer of MandateStore\.append is an instance of Appended: /u
    )
  })

  it("is registered with any runner, whose tests fail where a rule is broken", async () => {
    const runner = makeRunner()
    const reports: Array<boolean> = []
    storeContract(
      "unhealthy",
      async (time) => ({ ...(await promiseMemory(time)), health: { faults: () => ["worn out"] } }),
      {
        only: ["StoreHealth"],
        report: ({ conforms }) => reports.push(conforms),
        runner
      }
    )
    assert.lengthOf(runner.tests, 1)
    const error = await runner.tests[0]?.().catch((cause: unknown) => cause)
    assert.match(String(error), /worn out/u)
    for (const end of runner.ends) await end()
    assert.deepStrictEqual(reports, [false])
  })
})
