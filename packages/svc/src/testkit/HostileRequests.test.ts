import { assert, describe, it } from "@effect/vitest"
import { hostileRequests } from "./HostileRequests.ts"
import { testService } from "./TestService.ts"

describe("hostile requests", () => {
  it("are refused as they say, and change nothing", async () => {
    const service = await testService({ webhooks: false, logger: () => undefined })
    const { key: apiKey } = await service.createApiKey(service.organization)
    const answers = []
    const requests = hostileRequests({ url: "http://localhost:3000/mandates/", apiKey })
    for (const { request, wrong } of requests) {
      const response = await service.fetch(request())
      const { code } = await response.json()
      answers.push({ wrong, status: response.status, code })
    }
    assert.isAbove(answers.length, 20)
    assert.deepStrictEqual(
      answers,
      requests.map(({ code, status, wrong }) => ({ wrong, status, code }))
    )
    assert.deepStrictEqual((await service.forOrganization(service.organization).mandates.list()).data, [])
    await service.close()
  })
})
