import { assert, describe, it } from "@effect/vitest"
import { openApiText } from "./DocumentRoutes.ts"
import { prose } from "./Markdown.ts"
import { referencePage } from "./ReferencePage.ts"

const document = JSON.parse(openApiText("https://api.example"))
const facts = { baseUrl: "https://api.example" }
const development = { ...facts, development: { returnOrigin: "http://localhost:10000" } }
const page = referencePage(document, facts)
const ids = [...page.matchAll(/ id="([^"]+)"/gu)].map(([, id]) => id!)

describe("the reference (part 9)", () => {
  it("has an anchor of its own for every operation, member, header and problem code", () => {
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.includeMembers(ids, [
      "createMandate",
      "createMandate.policy.periods.max_amount",
      "listMandates.cursor",
      "Authorization.execute_before",
      "WebhookEvent.data.mandate_id",
      "header.Idempotency-Replayed",
      "problem.commitment_reused",
      "caller-duties"
    ])
    const wanted = [...page.matchAll(/href="#([^"]+)"/gu)].map(([, id]) => id!)
    assert.isAbove(wanted.length, 200)
    assert.deepStrictEqual(
      wanted.filter((id) => !ids.includes(id)),
      []
    )
  })

  it("has a sample for each operation, with the API key from the environment", () => {
    const operations = Object.values<object>(document.paths).flatMap((path) => Object.values(path))
    assert.strictEqual([...page.matchAll(/<code class="language-sh">/gu)].length, operations.length)
    assert.include(page, "Authorization: Bearer $SVC_API_KEY")
  })

  it("has a given API key in its samples", () => {
    const own = referencePage(document, { ...development, apiKey: "svc_test_example" })
    assert.include(own, "Authorization: Bearer svc_test_example")
    assert.notInclude(own, "$SVC_API_KEY")
    assert.include(own, "http://localhost:10000/return")
    assert.include(page, "https://shop.example/return")
  })

  it("has no comments in samples, which interactive zsh does not accept", () => {
    for (const shown of [page, referencePage(document, development)]) {
      const samples = [...shown.matchAll(/<code class="language-sh">([\s\S]*?)<\/code>/gu)]
      assert.deepStrictEqual(
        samples.map(([, sample]) => sample!).filter((sample) => /^\s*#|\s#\s/mu.test(sample)),
        []
      )
    }
  })

  it("says after the sample of an approval session what to do next", () => {
    const own = referencePage(document, development)
    assert.include(own, "<code>npm run --silent approve -- &quot;$APPROVAL_URL&quot;</code>")
    assert.notInclude(page, "npm run")
  })

  it("explains lists, keys, budgets and addresses", () => {
    for (const words of [
      "the journal of a mandate is oldest first",
      "An exhausted budget is a DENY decision, never a 429.",
      "The key already served another request of the organization, to this or another operation.",
      "https, or http://localhost where the deployment allows it",
      "do not retry unchanged"
    ]) {
      assert.include(page.replaceAll(/<\/?a\b[^>]*>/gu, ""), words)
    }
    assert.notMatch(page, /repeated unchanged|of this operation\b|as the detail then says/u)
  })

  it("breaks paths after slashes alone", () => {
    assert.include(page, "<code>/v1/<wbr>authorizations/<wbr>{authorization_id}/<wbr>refunds</code>")
    assert.notMatch(page, /<code>(?:[A-Z]+ )?\/v1\/[^<]*<\/code>/u)
  })

  it("shows descriptions as text, not markup", () => {
    assert.include(prose('Send <b>t=<Unix seconds></b> & "x"'), "&lt;b&gt;")
    assert.include(prose("at most max_amount, on a*b"), "<code>max_amount</code>")
    assert.notMatch(page, /<(?:Unix|API|64)/u)
  })
})
