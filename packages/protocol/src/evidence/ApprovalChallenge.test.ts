import { assert, describe, it } from "@effect/vitest"
import { byteVectors } from "../../test/ByteVectors.ts"
import { encodeBase64Url } from "../Base64Url.ts"
import { approvalChallenge } from "./ApprovalChallenge.ts"

describe("the approval challenge (part 6)", () => {
  it.each(byteVectors.approval_challenge)(
    "of the vector's statement is $challenge",
    ({ statement, challenge }) => {
      const bytes = approvalChallenge(statement)
      assert.strictEqual(bytes.length, 32)
      assert.strictEqual(encodeBase64Url(bytes), challenge)
    }
  )
})
