import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { checkClientData } from "./ClientData.ts"

const rest = `"type":"webauthn.get","challenge":"AAAA","origin":"https://a.example"`

describe("checkClientData", () => {
  it.each([
    [`{${rest}}`, "accepted"],
    [`{${rest},"crossOrigin":false}`, "accepted"],
    [`{${rest},"crossOrigin":false,"later":{"a":[1]}}`, "accepted"],
    [` { ${rest} } `, "accepted"],
    [`{${rest},"crossOrigin":true}`, "cross_origin"],
    [`{${rest},"crossOrigin":null}`, "cross_origin"],
    [`{${rest},"crossOrigin":"false"}`, "cross_origin"],
    [`{${rest},"crossOrigin":0}`, "cross_origin"],
    [`{${rest},"crossOrigin":false,"topOrigin":"https://a.example"}`, "top_origin"],
    [`{${rest},"crossOrigin":true,"topOrigin":"https://b.example"}`, "top_origin"],
    [`{${rest},"topOrigin":null}`, "top_origin"],
    [`{${rest},"topOrigin":""}`, "top_origin"],
    [`{${rest},"crossOrigin":true,"crossOrigin":false}`, "client_data_malformed"],
    [`{${rest},"cross\\u004frigin":true,"crossOrigin":false}`, "client_data_malformed"],
    [`{${rest},"origin":"https://b.example"}`, "client_data_malformed"],
    [`\ufeff{${rest}}`, "client_data_malformed"],
    [`{${rest}}x`, "client_data_malformed"],
    [`{${rest}`, "client_data_malformed"],
    ["[]", "client_data_malformed"],
    ["null", "client_data_malformed"],
    ["", "client_data_malformed"],
    [`{${rest},"a":${"[".repeat(5000)}${"]".repeat(5000)}}`, "client_data_malformed"]
  ])("%s", (text, expected) => {
    const result = checkClientData(new TextEncoder().encode(text))
    assert.strictEqual(Result.isSuccess(result) ? "accepted" : result.failure, expected)
  })

  it("refuses bytes that are not UTF-8", () => {
    const bytes = new TextEncoder().encode(`{${rest},"a":"x"}`)
    bytes[bytes.length - 3] = 0xff
    assert.isTrue(Result.isFailure(checkClientData(bytes)))
  })
})
