import { CancellationBody } from "@svc/protocol/Authorization"
import { isJsonObject, type JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { Result } from "effect"

const decodeMembers = decodeBody(CancellationBody)

const CREDENTIAL_REQUIRED: MemberFault = {
  pointer: "/external_credential_reference",
  code: "required",
  detail: "is required with execution_disposition NO_LONGER_POSSIBLE"
}

/** An external credential that could have acted must be named when it was disabled (part 5). */
const lacksCredential = (body: JsonValue): boolean =>
  isJsonObject(body) &&
  body.execution_disposition === "NO_LONGER_POSSIBLE" &&
  !Object.hasOwn(body, "external_credential_reference")

/** Reads the body of a cancellation, or every fault of it. */
export const readCancellation = (
  body: JsonValue
): Result.Result<CancellationBody, ReadonlyArray<MemberFault>> => {
  const decoded = decodeMembers(body)
  if (!lacksCredential(body)) return decoded
  const others = Result.isFailure(decoded) ? decoded.failure : []
  return Result.fail([...others, CREDENTIAL_REQUIRED])
}
