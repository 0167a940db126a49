import { assert, describe, it } from "@effect/vitest"
import { byteVectors, publishedByteVectors } from "./ByteVectors.ts"

describe.skipIf(publishedByteVectors === undefined)("the published byte vectors", () => {
  it("equal the copy that the tests use", () => assert.deepStrictEqual(byteVectors, publishedByteVectors))
})
