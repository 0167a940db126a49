import { assert, describe, it } from "@effect/vitest"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { Result } from "effect"
import { readAuthenticationResponse, readRegistrationResponse } from "./PasskeyResponse.ts"

const registration = {
  id: "AAAA",
  rawId: "AAAA",
  type: "public-key",
  response: { clientDataJSON: "e30", attestationObject: "oA" }
} satisfies JsonObject

const authentication = {
  id: "AAAA",
  rawId: "AAAA",
  type: "public-key",
  response: { clientDataJSON: "e30", authenticatorData: "AAAA", signature: "MAYC", userHandle: "BBBB" }
} satisfies JsonObject

type Read = (body: JsonValue) => Result.Result<unknown, ReadonlyArray<{ readonly pointer: string }>>

const pointersOf = (read: Read, body: JsonValue): ReadonlyArray<string> =>
  Result.match(read(body), {
    onFailure: (faults) => faults.map(({ pointer }) => pointer),
    onSuccess: () => []
  })

/** What is no canonical base64url, whichever member it stands in. */
const NO_BYTES: ReadonlyArray<JsonValue> = [
  "A",
  "AB",
  "AAAA=",
  "AA==",
  "AA+A",
  "AA/A",
  "AA A",
  "AAAA\n",
  "ä",
  1,
  [],
  {}
]

const cases = [
  {
    name: "RegistrationResponseJSON",
    read: readRegistrationResponse as Read,
    honest: registration as JsonObject
  },
  {
    name: "AuthenticationResponseJSON",
    read: readAuthenticationResponse as Read,
    honest: authentication as JsonObject
  }
]

for (const { honest, name, read } of cases) {
  describe(name, () => {
    const response = honest.response as JsonObject

    it("is read with unknown members, and null for an optional one", () => {
      assert.deepStrictEqual(read(honest), Result.succeed(honest))
      const extra = {
        authenticatorAttachment: null,
        clientExtensionResults: { a: null },
        x: [1],
        __proto__x: 1
      }
      const inner = { transports: null, publicKey: null, y: {} }
      assert.deepStrictEqual(
        read({ ...honest, ...extra, response: { ...response, ...inner } }),
        Result.succeed(honest)
      )
    })

    it("names every member that is missing, empty or no canonical base64url", () => {
      for (const member of ["id", "rawId"]) {
        for (const value of [...NO_BYTES, null, ""]) {
          assert.deepStrictEqual(
            pointersOf(read, { ...honest, [member]: value }),
            [`/${member}`],
            String(value)
          )
        }
      }
      for (const member of Object.keys(response).filter((key) => key !== "userHandle")) {
        for (const value of [...NO_BYTES, null, ""]) {
          const body = { ...honest, response: { ...response, [member]: value } }
          assert.deepStrictEqual(pointersOf(read, body), [`/response/${member}`], String(value))
        }
        const { [member]: _, ...rest } = response
        assert.deepStrictEqual(pointersOf(read, { ...honest, response: rest }), [`/response/${member}`])
      }
    })

    it("is a public-key credential and an object", () => {
      for (const type of ["password", "Public-Key", "", null, ["public-key"]]) {
        assert.deepStrictEqual(pointersOf(read, { ...honest, type }), ["/type"])
      }
      for (const body of [null, [], "x", 1, true, [honest]])
        assert.deepStrictEqual(pointersOf(read, body), [""])
      for (const value of [null, [], "x", 1]) {
        assert.include(pointersOf(read, { ...honest, response: value }), "/response")
      }
      assert.includeMembers([...pointersOf(read, {})], ["/type", "/id", "/rawId", "/response"])
    })

    it("does not look for members where every object has some", () => {
      const inherited = JSON.parse(`{"__proto__":${JSON.stringify(honest)}}`) as JsonObject
      assert.includeMembers([...pointersOf(read, inherited)], ["/type", "/id", "/rawId", "/response"])
    })
  })
}

it("what is wrong with a response is named by its kind: missing, of another type, or of no value", () => {
  const codesOf = (body: JsonValue) =>
    Result.match(readRegistrationResponse(body), {
      onFailure: (faults) => faults.map(({ code, pointer }) => `${pointer} ${code}`),
      onSuccess: () => []
    })
  assert.deepStrictEqual(codesOf([]), [" invalid_type"])
  const { response, ...rest } = registration
  assert.deepStrictEqual(codesOf({ ...rest, id: "A" }), ["/id invalid_value", "/response required"])
  assert.deepStrictEqual(codesOf({ type: "public-key", rawId: 1, response: [] }), [
    "/id required",
    "/rawId invalid_value",
    "/response invalid_type"
  ])
})

describe("userHandle", () => {
  const withHandle = (userHandle: JsonValue): JsonObject => ({
    ...authentication,
    response: { ...authentication.response, userHandle }
  })

  it("may be absent, null or empty, which are one, or any bytes", () => {
    const { userHandle: _, ...rest } = authentication.response
    const without = { ...authentication, response: rest }
    for (const body of [without, withHandle(null), withHandle("")]) {
      assert.deepStrictEqual(readAuthenticationResponse(body) as unknown, Result.succeed(without))
    }
    for (const handle of ["AA", "B".repeat(44)]) {
      assert.deepStrictEqual(
        readAuthenticationResponse(withHandle(handle)) as unknown,
        Result.succeed(withHandle(handle))
      )
    }
  })

  it("is malformed when it is no canonical base64url", () => {
    for (const value of NO_BYTES) {
      assert.deepStrictEqual(
        pointersOf(readAuthenticationResponse as Read, withHandle(value)),
        ["/response/userHandle"],
        String(value)
      )
    }
  })
})
