import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { schemaGrants } from "./SchemaGrants.ts"

describe("schemaGrants", () => {
  it("gives what docs/operate/install.md gives", () => {
    const page = readFileSync(new URL("../../../../docs/operate/install.md", import.meta.url), "utf8")
    const [, block = ""] = /```sql\n(grant [\s\S]*?)```/u.exec(page) ?? []
    assert.strictEqual(schemaGrants({ role: "svc" }), block.trim().replaceAll("\n", " "))
  })

  it("quotes names that are not plain, and says where one is not known", () => {
    assert.match(
      schemaGrants({ schema: "Svc", role: 'a "b"' }),
      /^grant usage on schema "Svc" to "a ""b""";/u
    )
    assert.match(schemaGrants({}), /^grant usage on schema svc to ROLE;/u)
    assert.match(
      schemaGrants({ functions: true }),
      /; grant execute on all functions in schema svc to ROLE;$/u
    )
  })
})
