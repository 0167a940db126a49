import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { jsonPointer } from "@svc/protocol/json/JsonPointer"
import type { MemberFault } from "@svc/protocol/Problem"
import { Result } from "effect"

/** AuthenticationResponseJSON of WebAuthn Level 3, as far as it is read. Bytes are base64url. */
export interface AuthenticationResponse {
  readonly id: string
  readonly rawId: string
  readonly type: "public-key"
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle?: string
  }
}

/** RegistrationResponseJSON of WebAuthn Level 3, as far as it is read. Bytes are base64url. */
export interface RegistrationResponse {
  readonly id: string
  readonly rawId: string
  readonly type: "public-key"
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
}

/*
 * The two WebAuthn response bodies. Browsers produce them, so only they may have unknown members, and null for an optional
 * one (part 1). Their bytes must still be canonical base64url.
 */

interface Reader {
  readonly faults: Array<MemberFault>
  readonly object: (value: JsonValue | undefined, path: ReadonlyArray<string>) => JsonObject
  readonly bytes: (from: JsonObject, path: ReadonlyArray<string>) => string
}

const reader = (): Reader => {
  const faults: Array<MemberFault> = []
  const fault = (path: ReadonlyArray<string>, code: string, detail: string) => {
    faults.push({ pointer: jsonPointer(path), code, detail })
  }
  return {
    faults,
    object: (value, path) => {
      if (value !== undefined && isJsonObject(value)) return value
      fault(path, value === undefined ? "required" : "invalid_type", "must be a JSON object")
      return {}
    },
    bytes: (from, path) => {
      const member = path.at(-1) ?? ""
      const value = Object.hasOwn(from, member) ? from[member] : undefined
      if (typeof value === "string" && value !== "" && decodeBase64Url(value) !== undefined) {
        return value
      }
      fault(path, value === undefined ? "required" : "invalid_value", "must be canonical base64url")
      return ""
    }
  }
}

const finish = <A>({ faults }: Reader, value: A): Result.Result<A, ReadonlyArray<MemberFault>> =>
  faults.length === 0 ? Result.succeed(value) : Result.fail(faults)

const credential = (read: Reader, body: JsonValue) => {
  const object = read.object(body, [])
  if (isJsonObject(body) && object.type !== "public-key") {
    read.faults.push({ pointer: "/type", code: "invalid_value", detail: 'must be "public-key"' })
  }
  if (!isJsonObject(body)) return { id: "", rawId: "", type: "public-key" as const, response: {} }
  return {
    id: read.bytes(object, ["id"]),
    rawId: read.bytes(object, ["rawId"]),
    type: "public-key" as const,
    response: read.object(object.response, ["response"])
  }
}

/** Reads a RegistrationResponseJSON (WebAuthn Level 3, section 5.1.8). */
export const readRegistrationResponse = (
  body: JsonValue
): Result.Result<RegistrationResponse, ReadonlyArray<MemberFault>> => {
  const read = reader()
  const { response, ...rest } = credential(read, body)
  if (read.faults.length > 0) return Result.fail(read.faults)
  return finish(read, {
    ...rest,
    response: {
      clientDataJSON: read.bytes(response, ["response", "clientDataJSON"]),
      attestationObject: read.bytes(response, ["response", "attestationObject"])
    }
  })
}

/** Reads an AuthenticationResponseJSON (WebAuthn Level 3, section 5.1.8). */
export const readAuthenticationResponse = (
  body: JsonValue
): Result.Result<AuthenticationResponse, ReadonlyArray<MemberFault>> => {
  const read = reader()
  const { response, ...rest } = credential(read, body)
  if (read.faults.length > 0) return Result.fail(read.faults)
  const handle = response.userHandle
  return finish(read, {
    ...rest,
    response: {
      clientDataJSON: read.bytes(response, ["response", "clientDataJSON"]),
      authenticatorData: read.bytes(response, ["response", "authenticatorData"]),
      signature: read.bytes(response, ["response", "signature"]),
      // Some authenticators send an empty handle instead of none (part 6).
      ...(handle === undefined || handle === null || handle === ""
        ? {}
        : { userHandle: read.bytes(response, ["response", "userHandle"]) })
    }
  })
}
