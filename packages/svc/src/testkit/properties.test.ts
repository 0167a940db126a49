import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  checkLifecycle,
  checkLinearizability,
  type LifecycleCommand,
  type LifecycleOptions,
  lifecycle
} from "./properties.ts"
import { testService } from "./TestService.ts"

const service = () => testService({ now: "2026-03-28T12:00:00Z", webhooks: false, logger: () => undefined })

const failureOf = (check: Promise<unknown>): Promise<string> =>
  check.then(
    () => "no failure",
    (error: unknown) => (error instanceof Error ? error.message : String(error))
  )

describe("the lifecycle over the API", () => {
  it("is what the model says and the recount finds, and goes through many transitions", async () => {
    const { runs, steps, transitions } = await checkLifecycle(service, { numRuns: 8, seed: 1 })
    assert.strictEqual(runs, 8)
    assert.isAbove(steps, 100)
    for (const transition of [
      "mandate nothing > PENDING_APPROVAL",
      "mandate PENDING_APPROVAL > ACTIVE",
      "authorization nothing > RESERVED",
      "authorization RESERVED > COMMITTED"
    ])
      assert.isAbove(transitions[transition] ?? 0, 0, transition)
  })

  it("is tested against any fetch handler with a key, without a clock to move", async () => {
    const tested = await testService({ webhooks: false, logger: () => undefined })
    const { key: apiKey } = await tested.createApiKey(tested.organization)
    const target = {
      url: "http://localhost:3000/mandates",
      apiKey,
      fetch: tested.fetch,
      approve: (mandate: { readonly id: string }) => tested.approve(mandate)
    }
    const { transitions } = await checkLifecycle(target, { numRuns: 2, seed: 2, maxCommands: 20 })
    assert.isAbove(transitions["mandate PENDING_APPROVAL > ACTIVE"] ?? 0, 0)
    await tested.close()
  })

  it("says the shortest history that fails, and how to run it again", async () => {
    const checkWith = (options: LifecycleOptions) =>
      failureOf(
        checkLifecycle(service, {
          ...options,
          invariants: [
            ({ authorizations }) => {
              if (authorizations.some(({ state }) => state === "COMMITTED"))
                throw new Error("nothing is ever committed")
            }
          ]
        })
      )
    const failure = await checkWith({ numRuns: 20, seed: 3 })
    assert.match(failure, /^nothing is ever committed\nafter\n1\. mandate 1 is created/u)
    assert.match(failure, /authorization 1 is committed: COMMITTED\n/u)
    assert.isAtMost(failure.split("\n").length, 10, failure)
    const [, path = "", replayPath = ""] =
      /FC_SEED=3 FC_PATH=lifecycle-[0-9a-f]{8}:(\S+) FC_REPLAY_PATH=(\S+) npx vitest run \S+properties\.test\.ts$/u.exec(
        failure
      ) ?? []
    const again = await checkWith({ numRuns: 1, seed: 3, path, replayPath })
    const historyOf = (text: string) => text.slice(0, text.indexOf("\n\n"))
    assert.strictEqual(historyOf(again), historyOf(failure))
  })

  it("takes steps of one's own, which may look at the model", async () => {
    let looked = 0
    const look: LifecycleCommand = {
      check: ({ mandates }) => mandates.length > 0,
      run: async (model, run) => {
        const { body } = await run.call("GET", "/v1/mandates")
        assert.lengthOf(body.data, model.mandates.length)
        looked += 1
      },
      toString: () => "look"
    }
    const commands = [...lifecycle.commands(), fc.constant(look)]
    await checkLifecycle(service, { numRuns: 3, seed: 4, commands, maxCommands: 20 })
    assert.isAbove(looked, 0)
  })
})

describe("callers at once", () => {
  it("are answered as if one request came after the other", async () => {
    const { answers, requests, runs } = await checkLinearizability(service, { numRuns: 12, seed: 1 })
    assert.strictEqual(runs, 12)
    assert.isAbove(requests, 60)
    for (const answer of ["propose: RESERVED", "propose: DENIED", "commit: COMMITTED"])
      assert.isAbove(answers[answer] ?? 0, 0, answer)
  })

  it("are told which answers cannot all be true, and how to run it again", async () => {
    const tested = await service()
    const { key: apiKey } = await tested.createApiKey(tested.organization)
    const first = new Map<string, Response>()
    /** Shows a mandate for good as it was shown first. */
    const stale = async (request: Request): Promise<Response> => {
      const response = await tested.fetch(request)
      if (request.method !== "GET" || !/\/v1\/mandates\/[^/]+$/u.test(request.url)) return response
      const kept = first.get(request.url) ?? response
      first.set(request.url, kept)
      return kept.clone()
    }
    const failure = await failureOf(
      checkLinearizability(
        {
          url: "http://localhost:3000/mandates",
          apiKey,
          fetch: stale,
          approve: (mandate) => tested.approve(mandate),
          clock: tested.clock
        },
        { numRuns: 20, seed: 2 }
      )
    )
    assert.match(failure, /^the answers? \d+ (?:and \d+ )*cannot (?:all )?be true/u)
    assert.match(failure, /caller \d: the mandate is read: [A-Z]+, \d+ reserved, \d+ committed/u)
    assert.match(
      failure,
      /FC_SEED=2 FC_PATH=callers-[0-9a-f]{8}:\S+ npx vitest run \S+properties\.test\.ts$/u
    )
    await tested.close()
  })
})
