import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { commandLine, parametersOf, propertyName, runAgain, type Started } from "./RunParameters.ts"

const started = (parts: Partial<Started>): Started => ({
  environment: {},
  arguments: ["/usr/bin/node", "/shop/check.mjs"],
  flags: [],
  directory: "/shop",
  stack: "",
  ...parts
})

describe("what runs a failure again", () => {
  it("is the command that started the program, with its arguments", () => {
    assert.strictEqual(commandLine(started({})), "node /shop/check.mjs")
    assert.strictEqual(
      commandLine(
        started({
          arguments: ["/usr/bin/node", "/shop/check.mjs", "--store", "my store", "it's"],
          flags: ["--import", "tsx"]
        })
      ),
      `node --import tsx /shop/check.mjs --store 'my store' 'it'\\''s'`
    )
    const context = { NODE_TEST_CONTEXT: "child-v8" }
    assert.strictEqual(
      commandLine(started({ environment: context, flags: ["--test-timeout=0"] })),
      "node --test /shop/check.mjs"
    )
  })

  it("names the file with vitest", () => {
    const vitest = { environment: { VITEST: "true" }, arguments: ["/usr/bin/node", "/shop/vitest/forks.js"] }
    const at = (place: string) =>
      commandLine(
        started({ ...vitest, stack: `Error: \n    at check (file:///kit/Check.js:1:2)\n    at ${place}\n` })
      )
    assert.strictEqual(at("/shop/test/life.test.ts:5:91"), "npx vitest run test/life.test.ts")
    assert.strictEqual(
      at("run (/shop/my tests/life.spec.mjs:5:91)"),
      "npx vitest run 'my tests/life.spec.mjs'"
    )
    assert.strictEqual(at("file:///shop/life.test.ts?t=1:5:91"), "npx vitest run life.test.ts")
    assert.strictEqual(at("/shop/Check.ts:5:91"), "npx vitest run")
    for (const place of [
      "old (1)/it's.test.ts",
      "at (file/a.test.ts",
      "async/a.test.ts",
      "a.test.ts (1)/b.spec.ts"
    ]) {
      const named = `npx vitest run ${/[ (']/u.test(place) ? `'${place.replace("'", "'\\''")}'` : place}`
      for (const frame of [
        `/shop/${place}:5:91`,
        `async /shop/${place}:5:91`,
        `async run (/shop/${place}:5:91)`
      ])
        assert.strictEqual(at(frame), named, frame)
      const url = pathToFileURL(`/shop/${place}`).href
      for (const frame of [`${url}:5:91`, `async ${url}:5:91`, `run [as it] (${url}:5:91)`])
        assert.strictEqual(at(frame), named, frame)
    }
  })

  it("is meant for one property, and lets the others of the program run as ever", () => {
    const [own, other] = [propertyName("lifecycle", () => 1, [5]), propertyName("lifecycle", () => 2, [5])]
    assert.notStrictEqual(own, other)
    assert.strictEqual(
      own,
      propertyName("lifecycle", () => 1, [5])
    )
    const [told = "", command = ""] = runAgain(
      own,
      { seed: 3, path: "0:1:1", replayPath: "AAF:C" },
      "",
      started({})
    )
    assert.strictEqual(told, "seed 3, path 0:1:1, replayPath AAF:C; to run it again:")
    assert.strictEqual(command, `FC_SEED=3 FC_PATH=${own}:0:1:1 FC_REPLAY_PATH=AAF:C node /shop/check.mjs`)
    const environment = { FC_SEED: "3", FC_PATH: `${own}:0:1:1`, FC_REPLAY_PATH: "AAF:C" }
    assert.deepStrictEqual(parametersOf({}, own, environment), {
      runs: { numRuns: 20, seed: 3, path: "0:1:1" },
      replay: { replayPath: "AAF:C" }
    })
    assert.deepStrictEqual(parametersOf({ numRuns: 5 }, other, environment), {
      runs: { numRuns: 5 },
      replay: {}
    })
    const keyed = (apiKey: string) => propertyName("lifecycle", { apiKey }, [[() => true]])
    assert.strictEqual(keyed("one"), keyed("other"))
    // Without a name it is for whoever runs.
    assert.deepStrictEqual(parametersOf({}, other, { FC_SEED: "-4", FC_PATH: "0:1" }), {
      runs: { numRuns: 20, seed: -4, path: "0:1" },
      replay: {}
    })
    assert.deepStrictEqual(parametersOf({ seed: 1, path: "2" }, own, environment).runs, {
      numRuns: 20,
      seed: 1,
      path: "2"
    })
  })
})
