import { assert, describe, it } from "@effect/vitest"
import {
  API_KEY,
  json,
  lost,
  optionsOf,
  problem,
  type Step,
  scriptedFetch,
  silence
} from "../test/ScriptedFetch.ts"
import { createClient, type MandateInput, SvcError } from "./index.ts"

const INPUT: MandateInput = {
  kind: "SINGLE",
  subject_reference: "user_8f2",
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: "2030-01-01T00:00:00Z" }
}

const clientOf = (...steps: ReadonlyArray<Step>) => {
  const { fetch, sent } = scriptedFetch(...steps)
  return { sent, svc: createClient(optionsOf(fetch)) }
}

const failureOf = async (call: Promise<unknown>): Promise<SvcError> => {
  const failure = await call.then(
    () => undefined,
    (error) => error
  )
  assert.instanceOf(failure, SvcError)
  return failure
}

const created = () => json({ id: "mnd_1" }, 201)

describe("a write", () => {
  it("is sent under one key, with one body, however often it is tried", async () => {
    const input = { ...INPUT }
    const { sent, svc } = clientOf(
      () => {
        // What the caller does with its object afterwards changes nothing.
        Object.assign(input, { kind: "RECURRING" })
        return lost()
      },
      problem(503, "store_unavailable"),
      new Response("<html>", { status: 502 }),
      created()
    )
    assert.strictEqual((await svc.mandates.create(input)).id, "mnd_1")
    assert.lengthOf(sent, 4)
    assert.lengthOf(new Set(sent.map(({ headers }) => headers.get("idempotency-key"))), 1)
    for (const { body, headers, method, url } of sent) {
      assert.deepStrictEqual(body, INPUT)
      assert.deepStrictEqual([method, url.href], ["POST", "https://api.example/prefix/v1/mandates"])
      assert.strictEqual(headers.get("authorization"), `Bearer ${API_KEY}`)
      assert.match(headers.get("idempotency-key") ?? "", /^[\x21-\x7e]{1,255}$/u)
    }
  })

  it("has a key of its own, or the one it is given", async () => {
    const { sent, svc } = clientOf(created(), created(), created())
    await svc.mandates.create(INPUT)
    await svc.mandates.create(INPUT)
    await svc.mandates.create(INPUT, { idempotencyKey: "order-7" })
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"))
    assert.lengthOf(new Set(keys), 3)
    assert.strictEqual(keys[2], "order-7")
  })

  it("that failed for good names its key, to be repeated under it", async () => {
    const { sent, svc } = clientOf(lost, lost, created())
    const failure = await failureOf(svc.mandates.create(INPUT, { retries: 1 }))
    assert.strictEqual(failure.code, "network_error")
    assert.isTrue(failure.retryable)
    assert.match(
      failure.message,
      /POST https:\/\/api\.example\/prefix\/v1\/mandates: fetch failed \(connect ECONNREFUSED\)\. If it is always so, check baseUrl\. Whether it was carried out is unknown/u
    )
    await svc.mandates.create(INPUT, { idempotencyKey: failure.idempotencyKey })
    assert.lengthOf(new Set(sent.map(({ headers }) => headers.get("idempotency-key"))), 1)
  })

  it.each(["", "a b", "é", "x".repeat(256), "a\n"])(
    "under the key %j is not sent",
    async (idempotencyKey) => {
      const { sent, svc } = clientOf()
      const failure = await failureOf(svc.mandates.create(INPUT, { idempotencyKey }))
      assert.strictEqual(failure.code, "invalid_argument")
      assert.lengthOf(sent, 0)
    }
  )

  it("of what is no JSON is not sent", async () => {
    const { sent, svc } = clientOf()
    const failure = await failureOf(svc.mandates.create({ ...INPUT, description: 1n as never }))
    assert.strictEqual(failure.code, "invalid_argument")
    assert.lengthOf(sent, 0)
  })
})

describe("a failure", () => {
  it.each([
    [409, "idempotency_key_reused"],
    [401, "api_key_invalid"],
    [404, "not_found"],
    [422, "validation_failed"],
    [418, "a_code_to_come"]
  ])("of %d %s is final", async (status, code) => {
    const { sent, svc } = clientOf(problem(status, code))
    const failure = await failureOf(svc.mandates.get("mnd_1"))
    assert.deepStrictEqual([failure.code, failure.status, failure.retryable], [code, status, false])
    assert.lengthOf(sent, 1)
  })

  it("goes by retryable, not by the status", async () => {
    const final = clientOf(problem(503, "store_unavailable", { retryable: false }))
    assert.isFalse((await failureOf(final.svc.mandates.get("mnd_1"))).retryable)
    const passing = clientOf(problem(418, "a_code_to_come", { retryable: true }), json({ id: "mnd_1" }))
    assert.strictEqual((await passing.svc.mandates.get("mnd_1")).id, "mnd_1")
  })

  it("carries what the problem document says", async () => {
    const errors = [{ pointer: "/policy/currency", code: "invalid_value", detail: "Must be a current code." }]
    const members = { errors, current_state: "EXPIRED", resource_id: "aut_1" }
    const { svc } = clientOf(problem(422, "validation_failed", members))
    const failure = await failureOf(svc.mandates.create(INPUT, { idempotencyKey: "k" }))
    assert.deepInclude(failure, {
      name: "SvcError",
      code: "validation_failed",
      status: 422,
      errors,
      requestId: "req-1",
      currentState: "EXPIRED",
      resourceId: "aut_1",
      idempotencyKey: "k"
    })
    assert.strictEqual(
      failure.message,
      "A title. What is wrong. /policy/currency: Must be a current code (validation_failed, request req-1)"
    )
  })

  it("leaves out of errors what names no member", async () => {
    const fault = { pointer: "", code: "required", detail: "Must be there." }
    const { svc } = clientOf(problem(422, "validation_failed", { errors: [null, 7, {}, fault] }))
    assert.deepStrictEqual((await failureOf(svc.mandates.create(INPUT))).errors, [fault])
  })

  it("quotes little of what a fetch throws", async () => {
    const chatty = () => {
      throw new Error(`POST failed: ${"x".repeat(10_000)}`)
    }
    const { message } = await failureOf(clientOf(chatty).svc.mandates.get("mnd_1", { retries: 0 }))
    assert.include(message, "POST failed: xxx")
    assert.isBelow(message.length, 500)
    const bare = () => {
      throw { token: "secret" }
    }
    assert.notInclude(
      (await failureOf(clientOf(bare).svc.mandates.get("mnd_1", { retries: 0 }))).message,
      "secret"
    )
  })

  it.each([
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://evil.example" } })],
    ["a page in place of a resource", () => new Response("<html>", { status: 403 })],
    ["another success", () => json({ id: "mnd_1" }, 203)]
  ])("is %s", async (_, response) => {
    const { sent, svc } = clientOf(response, response)
    const failure = await failureOf(svc.mandates.get("mnd_1", { retries: 0 }))
    assert.strictEqual(failure.code, "unexpected_response")
    assert.lengthOf(sent, 1)
  })

  it.each([
    ["cut in its JSON", () => new Response('{"id":"mn', { status: 200 })],
    ["not an object", () => json([])],
    [
      "cut in its stream",
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":')),
            pull: (controller) => controller.error(new TypeError("terminated"))
          }),
          { status: 200 }
        )
    ]
  ])("that is an answer %s is tried again", async (_, response) => {
    const { sent, svc } = clientOf(response, json({ id: "mnd_1" }))
    assert.strictEqual((await svc.mandates.get("mnd_1")).id, "mnd_1")
    assert.lengthOf(sent, 2)
  })

  it("never shows the API key", async () => {
    const failures = [
      await failureOf(clientOf(lost).svc.mandates.create(INPUT, { retries: 0 })),
      await failureOf(clientOf(problem(401, "api_key_invalid")).svc.mandates.get("mnd_1")),
      await failureOf(clientOf(() => new Response("", { status: 404 })).svc.mandates.get("mnd_1"))
    ]
    for (const failure of failures) {
      assert.notInclude(`${failure.stack} ${JSON.stringify(failure)} ${String(failure.cause)}`, API_KEY)
    }
    assert.notInclude(JSON.stringify(clientOf().svc), API_KEY)
  })
})

describe("a wrong baseUrl", () => {
  const page = (status: number) => () =>
    new Response("<html>secret</html>", { status, headers: { "content-type": "text/html; charset=utf-8" } })
  const refused = () => {
    throw new TypeError("fetch failed", {
      cause: Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })
    })
  }

  it.each([
    ["a page", page(200), "mandates/mnd_1 was answered 200 (text/html)", "check https://api.example/prefix"],
    ["no page", page(404), "mandates/mnd_1 was answered 404 (text/html)", "check https://api.example/prefix"],
    ["nothing", () => new Response(null, { status: 404 }), "404 (without a content type)", "check https"],
    [
      "no route",
      problem(404, "not_found"),
      "is no route of the API",
      "check baseUrl, https://api.example/prefix"
    ],
    [
      "nobody",
      refused,
      "GET https://api.example/prefix/v1/mandates/mnd_1: fetch failed (ECONNREFUSED)",
      "check baseUrl"
    ]
  ])("that reaches %s is named with what was reached", async (_, step, reached, remedy) => {
    const { sent, svc } = clientOf(step, step)
    const failure = await failureOf(svc.mandates.get("mnd_1", { retries: step === refused ? 0 : 1 }))
    assert.lengthOf(sent, 1)
    assert.include(failure.message, reached)
    assert.include(failure.message, remedy)
    assert.notInclude(failure.message, "secret")
  })

  it("is not spoken of where the service's route has no such resource", async () => {
    const answer = problem(404, "not_found", { instance: "/v1/mandates/{mandate_id}" })
    const { message } = await failureOf(clientOf(answer).svc.mandates.get("mnd_1"))
    assert.strictEqual(message, "A title. What is wrong (not_found, request req-1)")
  })

  it("does not show the query", async () => {
    const { message } = await failureOf(
      clientOf(page(404))
        .svc.mandates.list({ subject_reference: "user_1" })
        .then(() => undefined)
    )
    assert.notInclude(message, "user_1")
  })
})

describe("the time of an attempt", () => {
  it("ends an attempt that is not answered, and another one follows", async () => {
    const { sent, svc } = clientOf(silence, json({ id: "mnd_1" }))
    assert.strictEqual((await svc.mandates.get("mnd_1", { timeout: 200 })).id, "mnd_1")
    assert.isTrue(sent[0]?.signal.aborted)
  })

  it("ends one whose body does not come, and one whose fetch ignores its signal", async () => {
    const endless = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }))
    const deaf = () => new Promise<Response>(() => {})
    for (const step of [endless, deaf]) {
      const failure = await failureOf(clientOf(step).svc.mandates.get("mnd_1", { timeout: 1, retries: 0 }))
      assert.deepStrictEqual([failure.code, failure.retryable], ["timeout", true])
    }
  })

  it.each([0, -1, Number.NaN, 2 ** 31])(
    "of %d ms is refused, and so is such a number of retries",
    async (n) => {
      const { sent, svc } = clientOf()
      assert.strictEqual(
        (await failureOf(svc.mandates.get("mnd_1", { timeout: n }))).code,
        "invalid_argument"
      )
      if (!(n >= 0)) {
        assert.strictEqual(
          (await failureOf(svc.mandates.get("mnd_1", { retries: n }))).code,
          "invalid_argument"
        )
        assert.throws(() => createClient({ ...optionsOf(fetch), retries: n }), SvcError)
        assert.throws(() => createClient({ ...optionsOf(fetch), backoff: { initial: n } }), SvcError)
      }
      assert.lengthOf(sent, 0)
    }
  )
})

describe("a signal", () => {
  it("that was aborted before lets nothing be sent", async () => {
    const { sent, svc } = clientOf()
    const failure = await failureOf(svc.mandates.get("mnd_1", { signal: AbortSignal.abort("enough") }))
    assert.deepStrictEqual([failure.code, failure.cause, sent.length], ["aborted", "enough", 0])
    assert.include(failure.message, "nothing was done")
  })

  it("ends an attempt, and nothing follows", async () => {
    const controller = new AbortController()
    const { sent, svc } = clientOf((request) => {
      controller.abort("enough")
      return silence(request)
    })
    const failure = await failureOf(
      svc.mandates.create(INPUT, { signal: controller.signal, idempotencyKey: "k" })
    )
    assert.deepStrictEqual(
      [failure.code, failure.retryable, failure.idempotencyKey, sent.length],
      ["aborted", false, "k", 1]
    )
    assert.include(failure.message, "Whether it was carried out is unknown")
  })

  it("ends the wait between attempts", async () => {
    const controller = new AbortController()
    const { fetch, sent } = scriptedFetch(() => {
      setTimeout(() => controller.abort("enough"))
      return problem(503, "store_unavailable", {}, { "retry-after": "60" })
    })
    const failure = await failureOf(
      createClient(optionsOf(fetch)).mandates.get("mnd_1", { signal: controller.signal })
    )
    assert.deepStrictEqual([failure.code, sent.length], ["aborted", 1])
  })
})

describe("a storeOpening that does not end", () => {
  const PROPOSAL = {
    external_reference: "order-1",
    proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
    execution_window_seconds: 900
  }
  const storeOpening = () => new Promise<never>(() => {})

  it("is given up with the time of the call, or with its signal, and nothing is sent", async () => {
    const { sent, svc } = clientOf()
    const late = await failureOf(
      svc.authorizations.propose("mnd_1", PROPOSAL, { storeOpening, timeout: 1, idempotencyKey: "k" })
    )
    assert.deepStrictEqual([late.code, late.retryable, late.idempotencyKey], ["timeout", true, "k"])
    const controller = new AbortController()
    const given = { storeOpening, signal: controller.signal, idempotencyKey: "k" }
    const waiting = failureOf(svc.authorizations.propose("mnd_1", PROPOSAL, given))
    controller.abort("enough")
    const aborted = await waiting
    assert.deepStrictEqual([aborted.code, aborted.cause, aborted.idempotencyKey], ["aborted", "enough", "k"])
    assert.include(aborted.message, "Nothing was sent")
    assert.lengthOf(sent, 0)
  })

  it("sends nothing when it does end, after the abort", async () => {
    const controller = new AbortController()
    const { sent, svc } = clientOf()
    const aborted = await failureOf(
      svc.authorizations.propose("mnd_1", PROPOSAL, {
        storeOpening: async () => controller.abort("enough"),
        signal: controller.signal
      })
    )
    assert.deepStrictEqual([aborted.code, sent.length], ["aborted", 0])
  })

  it("is not even asked under bounds that are none, or a signal that was aborted before", async () => {
    let asked = 0
    const { sent, svc } = clientOf()
    for (const [bounds, code] of [
      [{ timeout: 0 }, "invalid_argument"],
      [{ signal: new AbortController() as never }, "invalid_argument"],
      [{ signal: AbortSignal.abort() }, "aborted"]
    ] as const) {
      const refused = await failureOf(
        svc.authorizations.propose("mnd_1", PROPOSAL, { ...bounds, storeOpening: async () => asked++ })
      )
      assert.strictEqual(refused.code, code)
    }
    assert.deepStrictEqual([asked, sent.length], [0, 0])
  })
})

describe("Retry-After", () => {
  it("beyond what is waited for is left to the caller", async () => {
    const { sent, svc } = clientOf(problem(429, "rate_limited", {}, { "retry-after": "61" }))
    const failure = await failureOf(svc.mandates.get("mnd_1"))
    assert.deepStrictEqual([failure.code, failure.retryAfter, sent.length], ["rate_limited", 61, 1])
  })
})

describe("what is given by mistake", () => {
  it("is refused before anything is sent: misspelt options, a promise for an identifier, no API key", async () => {
    const { sent, svc } = clientOf()
    const misspelt = await failureOf(svc.mandates.create(INPUT, { idempotency_key: "order-1" } as never))
    assert.strictEqual(misspelt.code, "invalid_argument")
    assert.include(misspelt.message, "idempotencyKey")
    for (const options of [Promise.resolve({ idempotencyKey: "order-1" }), new Map(), null, 5, true, "key"]) {
      const refused = await failureOf(svc.mandates.create(INPUT, options as never))
      assert.strictEqual(refused.code, "invalid_argument")
      assert.include(refused.message, "the options of a call are an object")
    }
    const input = await failureOf(svc.authorizations.commit("aut_1", Promise.resolve({}) as never))
    assert.deepStrictEqual(
      [input.code, input.message],
      ["invalid_argument", "the input was given as a promise: await it"]
    )
    // biome-ignore lint/suspicious/noThenProperty: a query builder that is awaited is no promise of the language.
    const query = { then: (resolve: (id: string) => void) => resolve("mnd_1") }
    const never = async (): Promise<never> => assert.fail("nothing is run")
    for (const promise of [Promise.resolve("mnd_1"), query] as ReadonlyArray<unknown>)
      for (const call of [
        svc.mandates.get(promise as never),
        svc.execute(promise as never, never, { opening: "" })
      ]) {
        const promised = await failureOf(call)
        assert.strictEqual(promised.code, "invalid_argument")
        assert.include(promised.message, "await it")
      }
    for (const none of [undefined, null, 7, {}])
      assert.include(
        (await failureOf(svc.execute(none as never, never, { opening: "" }))).message,
        "execute takes an authorization"
      )
    for (const signal of [new AbortController(), null, { addEventListener: () => undefined }])
      assert.strictEqual(
        (await failureOf(svc.mandates.list({}, { signal: signal as never }))).code,
        "invalid_argument"
      )
    assert.lengthOf(sent, 0)
    const known = { baseUrl: "https://api.example", apiKey: API_KEY }
    for (const [options, words] of [
      [undefined, /takes an object with baseUrl/u],
      [Promise.resolve(known), /await it/u],
      [{ ...known, retry: 1 }, /no option "retry"/u],
      [{ ...known, fetch: 5 }, /fetch must be a function/u],
      [{ ...known, backoff: 5 }, /backoff takes an object/u],
      [{ ...known, backoff: { maximum: 1 } }, /no option "maximum"/u],
      [{ ...known, backoff: { max: -1 } }, /backoff\.max must be/u],
      [{ ...known, baseUrl: undefined }, /baseUrl must be/u]
    ] as const) {
      assert.throws(() => createClient(options as never), words)
    }
    for (const apiKey of [undefined, null, "", "svc test", 7])
      assert.throws(() => createClient({ baseUrl: "https://api.example", apiKey } as never), /apiKey/u)
  })
})
