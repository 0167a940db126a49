import { assert, it } from "@effect/vitest"
import { isOrganizationName } from "./Organization.ts"

it("the name of an organization is a text of 1 to 255 characters, none of them a control character", () => {
  for (const name of ["A", "Ağaç & Söhne", "😀".repeat(255)]) assert.isTrue(isOrganizationName(name), name)
  for (const name of ["", "😀".repeat(256), "a\u0000b", "a\nb", "a\u0085b", "\ud800"]) {
    assert.isFalse(isOrganizationName(name), JSON.stringify(name))
  }
})
