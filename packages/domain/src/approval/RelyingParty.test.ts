import { assert, it } from "@effect/vitest"
import { mayUseRelyingParty } from "./RelyingParty.ts"

it.each([
  ["approve.shop.example", "approve.shop.example", true],
  ["approve.shop.example", "shop.example", true],
  ["localhost", "localhost", true],
  ["approve.localhost", "localhost", false],
  ["approve.example", "example", false],
  ["othershop.example", "shop.example", false],
  ["shop.example", "approve.shop.example", false]
])("the host %s with the relying party id %s (WebAuthn section 5.1.2)", (host, rpId, expected) => {
  assert.strictEqual(mayUseRelyingParty(host, rpId), expected)
})
