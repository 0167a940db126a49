import { assert, describe, it } from "@effect/vitest"
import { type CborValue, encodeCbor } from "./CborEncoder.ts"

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

describe("encodeCbor", () => {
  const examples: ReadonlyArray<readonly [CborValue, string]> = [
    [0, "00"],
    [23, "17"],
    [24, "1818"],
    [255, "18ff"],
    [256, "190100"],
    [1000, "1903e8"],
    [65_536, "1a00010000"],
    [4_294_967_295, "1affffffff"],
    [-1, "20"],
    [-8, "27"],
    [-257, "390100"],
    ["", "60"],
    ["IETF", "6449455446"],
    ["ü", "62c3bc"],
    [new Uint8Array([1, 2, 3, 4]), "4401020304"],
    [new Map(), "a0"],
    [
      new Map([
        [1, 2],
        [3, 4]
      ]),
      "a201020304"
    ]
  ]
  it.each(examples)("writes %j as RFC 8949 does", (value, expected) => {
    assert.strictEqual(hex(encodeCbor(value)), expected)
  })

  it("writes long byte strings with a two-byte length", () => {
    assert.strictEqual(hex(encodeCbor(new Uint8Array(300))).slice(0, 8), "59012c00")
  })
})
