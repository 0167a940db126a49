import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { posted, promiseMemory } from "../../test/PromiseMemory.ts"
import {
  checkLifecycle,
  checkLinearizability,
  type LifecycleCommand,
  type LifecycleOptions,
  lifecycle
} from "./properties.ts"
import { testService } from "./TestService.ts"

const service = () => testService({ now: "2026-03-28T12:00:00Z", webhooks: false, logger: () => undefined })

// A resource or a page as it is answered, to be changed.
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Resource = any

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

  it("is that of a service whose store is in another thread", async () => {
    const apart = () =>
      testService({ store: async (time) => posted(await promiseMemory(time)), logger: () => undefined })
    const { transitions } = await checkLifecycle(apart, { numRuns: 3, seed: 1 })
    assert.isAbove(transitions["authorization RESERVED > COMMITTED"] ?? 0, 0)
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
    assert.match(
      failure,
      /^the answers? \d+ (?:and \d+ )*cannot (?:all )?be true, in whatever order the requests took effect\nbefore: ACTIVE, 2000 reserved, 0 committed; open are the authorizations 1 and 2\n1\. /u
    )
    assert.match(failure, /caller \d: the mandate is read: [A-Z]+, \d+ reserved, \d+ committed/u)
    assert.match(
      failure,
      /FC_SEED=2 FC_PATH=callers-[0-9a-f]{8}:\S+ npx vitest run \S+properties\.test\.ts$/u
    )
    await tested.close()
  })
})

describe("a target that cannot be tested", () => {
  const target = {
    url: "http://localhost:3000/mandates",
    apiKey: "key",
    approve: async () => undefined,
    fetch: async () => Response.json({})
  }

  /** What both checks say of a target, and how many requests they sent. */
  const failuresOf = async (given: unknown) => [
    await failureOf(checkLifecycle(given as typeof target, { numRuns: 20, seed: 1 })),
    await failureOf(checkLinearizability(given as typeof target, { numRuns: 20, seed: 1 }))
  ]

  it("is said to be one at once, without a seed and without a search for a shorter history", async () => {
    let requests = 0
    const answering = (status: number) => ({
      ...target,
      fetch: async () => {
        requests += 1
        return Response.json({ code: "some_code" }, { status })
      }
    })
    for (const failure of await failuresOf(answering(429)))
      assert.strictEqual(
        failure,
        'POST /v1/mandates is answered 429: the target limits requests: raise its limits, such as by limits: { rateLimit: "off" }'
      )
    for (const failure of await failuresOf(answering(401)))
      assert.strictEqual(failure, "POST /v1/mandates is answered 401: the target does not take its apiKey")
    assert.strictEqual(requests, 4)
  })

  it("is told by the address and the reason if it cannot be reached", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, "close")
    const url = `http://127.0.0.1:${port}/mandates`
    const { fetch: _, ...unreachable } = { ...target, url }
    for (const failure of await failuresOf(unreachable))
      assert.strictEqual(failure, `POST ${url}/v1/mandates could not be sent: fetch failed: ECONNREFUSED`)
    const throwing = {
      ...target,
      fetch: async () => {
        throw new Error("no handler")
      }
    }
    const [failure = ""] = await failuresOf(throwing)
    assert.match(failure, /^POST \S+ could not be sent: no handler\n\nseed 1, path /u)
  })

  it("is told what it lacks", async () => {
    const [incomplete] = await failuresOf({ url: "localhost" })
    assert.strictEqual(
      incomplete,
      "checkLifecycle: the target is not complete: url must be the base URL of the API; apiKey must be the key of an organization; approve must be a function that has a mandate approved"
    )
    const [nothing, nothingEither] = await failuresOf(async () => undefined)
    assert.match(nothing ?? "", /^checkLifecycle: the target is not complete: /u)
    assert.match(nothingEither ?? "", /^checkLinearizability: the target is not complete: /u)
    const [unmade] = await failuresOf(async () => {
      throw new Error("the database is gone")
    })
    assert.strictEqual(unmade, "checkLifecycle: the target could not be made: the database is gone")
  })

  it("may be made by a function for each run, as a test service is", async () => {
    let closed = 0
    const { runs } = await checkLinearizability(
      async () => {
        const tested = await service()
        const { key: apiKey } = await tested.createApiKey(tested.organization)
        const { approve, clock, fetch } = tested
        const close = async () => {
          closed += 1
          await tested.close()
        }
        return { ...target, apiKey, approve, clock, fetch, close }
      },
      { numRuns: 2 }
    )
    assert.deepStrictEqual([runs, closed], [2, 2])
  })
})

describe("what is shown otherwise than it is recorded", () => {
  it("is told by the member that differs", async () => {
    const tested = await service()
    const { key: apiKey } = await tested.createApiKey(tested.organization)
    const showing = (change: (body: Resource) => unknown, path: RegExp) =>
      failureOf(
        checkLifecycle(
          {
            url: "http://localhost:3000/mandates",
            apiKey,
            approve: (mandate) => tested.approve(mandate),
            clock: tested.clock,
            fetch: async (request) => {
              const response = await tested.fetch(request)
              if (request.method !== "GET" || !path.test(new URL(request.url).pathname)) return response
              const { headers, status } = response
              return Response.json(change(await response.json()), { headers, status })
            }
          },
          { numRuns: 20, seed: 3 }
        )
      )
    const usage = await showing(
      ({ usage, ...rest }: Resource) => ({ ...rest, usage: { ...usage, reserved_amount: 0 } }),
      /\/mandates\/mnd_\w+$/u
    )
    assert.match(usage, /^usage as counted: reserved_amount: shown 0, recounted \d+\nafter\n1\. /u)
    const states = await showing(
      ({ data, ...rest }: Resource) => ({
        ...rest,
        data: data.map((each: object) => ({ ...each, state: "DENIED" }))
      }),
      /\/authorizations$/u
    )
    assert.match(
      states,
      /^authorizations as recorded: authorization 1 is shown as DENIED, its journal says RESERVED\nafter\n/u
    )
    await tested.close()
  })
})
