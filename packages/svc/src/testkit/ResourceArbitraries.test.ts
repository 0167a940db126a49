import { assert, describe, it } from "@effect/vitest"
import { proposeTerms } from "@svc/domain/mandate/MandateRequest"
import { CreateMandateBody } from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Option, Result } from "effect"
import * as fc from "fast-check"
import {
  callerSteps,
  clockTimes,
  invalidMandateInputs,
  mandateFaults,
  mandateInputs,
  policyInputs,
  proposalInputs
} from "./properties.ts"
import { testService } from "./TestService.ts"

const NOW = "2028-02-28T12:00:00Z"
const settings = { seed: 1 }

const newService = () => testService({ now: NOW, webhooks: false, logger: () => undefined })

const offsetIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" }).formatToParts(at).at(-1)?.value ??
  ""

describe("arbitraries of resources", () => {
  it("draws mandates that the API takes, and proposals with every outcome", async () => {
    const service = await newService()
    const shop = service.forOrganization(service.organization)
    const seen = new Set<string>()
    const inputs = mandateInputs({ now: NOW })
    const property = fc.asyncProperty(inputs, async (input) => {
      const mandate = await shop.mandates.create(input)
      assert.strictEqual(mandate.policy.max_amount, input.policy.max_amount)
      const isOpen = (Date.parse(input.window.starts_at ?? NOW) ?? 0) <= Date.parse(NOW)
      if (!isOpen || seen.size >= 3) return
      await service.approve(mandate)
      for (const { body } of fc.sample(proposalInputs(input.policy), { numRuns: 3, seed: 1 })) {
        const unique = fc.sample(proposalInputs(input.policy), 1)[0]?.body.commitment ?? body.commitment
        seen.add((await shop.authorizations.propose(mandate.id, { ...body, commitment: unique })).decision)
      }
    })
    await fc.assert(property, { ...settings, numRuns: 25 })
    assert.includeMembers([...seen], ["ALLOW", "DENY"])
    await service.close()
  })

  it("draws mandates that are taken at whatever time", () => {
    const decode = decodeBody(CreateMandateBody)
    const cases = clockTimes.chain(({ now }) => mandateInputs({ now }).map((input) => ({ now, input })))
    const property = fc.property(cases, ({ now, input }) => {
      const body = decode(JSON.parse(JSON.stringify(input)))
      const at = parseTimestamp(now) ?? assert.fail(now)
      const terms = Result.flatMap(body, (valid) => proposeTerms(valid, at, () => true))
      assert.deepStrictEqual(Result.getFailure(terms), Option.none())
    })
    fc.assert(property, { ...settings, numRuns: 2000 })
  })

  it("draws mandates that the API refuses, one for each rule, for the reason that is said", async () => {
    const service = await newService()
    const { key } = await service.createApiKey(service.organization)
    const tried = new Set<string>()
    const property = fc.asyncProperty(
      invalidMandateInputs({ now: NOW }),
      async ({ body, code, pointer, wrong }) => {
        tried.add(wrong)
        const request = new Request("http://localhost:3000/mandates/v1/mandates", {
          method: "POST",
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            "idempotency-key": crypto.randomUUID()
          },
          body: JSON.stringify(body)
        })
        const response = await service.fetch(request)
        const problem = await response.json()
        assert.strictEqual(response.status, 422, wrong)
        const faults = problem.errors.map(
          (fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`
        )
        assert.include(faults, `${pointer} ${code}`, wrong)
      }
    )
    await fc.assert(property, { ...settings, numRuns: 10 * mandateFaults.length })
    assert.sameMembers([...tried], [...mandateFaults])
    await service.close()
  })

  it("draws steps whose reports name what was proposed", () => {
    const steps = policyInputs("RECURRING").chain((policy) => callerSteps(policy))
    fc.assert(
      fc.property(steps, (story) => {
        let proposed = 0
        for (const step of story) {
          if (step.kind === "propose") proposed += 1
          if ("authorization" in step) assert.isBelow(step.authorization, proposed)
        }
      }),
      settings
    )
  })

  it("draws times beside changes of summer time that the runtime knows, too", () => {
    const drawn = fc.sample(clockTimes, { numRuns: 2000, seed: 1 })
    const changes = drawn.filter(({ about }) => about.startsWith("summer"))
    assert.isAbove(changes.length, 100)
    const day = 86_400_000
    for (const { now, time_zone } of changes) {
      const at = Date.parse(now)
      assert.notStrictEqual(
        offsetIn(time_zone, at - day - 1),
        offsetIn(time_zone, at + day + 1),
        `${now} ${time_zone}`
      )
    }
    assert.isTrue(drawn.some(({ now }) => now.startsWith("2028-02-29")))
  })
})
