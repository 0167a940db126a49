import { checkPrimeSync, generateKeyPairSync, generatePrimeSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { MAX_RSA_BITS, MIN_RSA_BITS, rsaKeyFault } from "./RsaPublicKey.ts"

const bytesOf = (value: bigint): Uint8Array => {
  const hex = value.toString(16)
  return new Uint8Array(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex"))
}

const randomModulus = (bits: number): bigint => {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: bits })
  const { n = "" } = publicKey.export({ format: "jwk" })
  return BigInt(`0x${Buffer.from(n, "base64url").toString("hex")}`)
}

const USUAL_EXPONENT = new Uint8Array([1, 0, 1])

const prime = (bits: number): bigint => generatePrimeSync(bits, { bigint: true })

const HONEST = randomModulus(2048)

/** The product of the first 126 primes, from which the faulty library makes keys of 2048 bits. */
const primorial = (() => {
  const primes: Array<number> = []
  for (let candidate = 2; primes.length < 126; candidate++) {
    if (primes.every((known) => candidate % known !== 0)) primes.push(candidate)
  }
  return primes.reduce((product, one) => product * BigInt(one), 1n)
})()

const power = (base: bigint, exponent: bigint, modulo: bigint): bigint => {
  let result = 1n
  for (let left = exponent, square = base; left > 0n; left >>= 1n, square = (square * square) % modulo) {
    if (left & 1n) result = (result * square) % modulo
  }
  return result
}

/** A factor as that library would draw it: k * M + (65537^a mod M). */
const rocaFactor = (k: bigint, a: bigint): bigint => k * primorial + power(65_537n, a, primorial)

/** 1 and 54 bits above the 970 or so of the product of primes: factors of 1024 bits. */
const ROCA = rocaFactor((1n << 54n) + 12_345n, 987_654_321n) * rocaFactor((1n << 54n) + 777n, 123_456_789n)

/** A key of a smart card that has the fault, published with the detector of those who found it (crocs-muni/roca). */
const CARD = BigInt(
  "0x9dcd7420e420c270a68060eb8b5aa7457a9f6648f86fafed2775cc1f79ae962f1e63f1b9e51c55f9ea6fdc7332e9b0058c9ff2eb1fc89855029cf6aafe21e689feb38ac9ffb12f1ce371bb5d0e9aae64161abce74b4244bf68f1edb4411f756a097c8929c14740245ea355f8332d1aa36bb50c7dcb4505da8de02e4e53d38f8df06097da7524df0df93db48eac8cc4af2d3a16257eb2b2adca6ba464e5974fa92550d31b1babf161e7692d00b86e3dd886ecab4abfbe1a8f8cc263ff4af55cdb45f4249a5193925f5e983d762f0b6800943eb0267b08f42ed311ce1f5c86eacbc8ce4d3cb7a2fee1ef5641423a1cf4114e5ecf50034a60a412523af9e6f4aa11"
)

/** The product of a prime and the one after it. */
const close = (() => {
  const first = prime(1024)
  let second = first + 2n
  while (!checkPrimeSync(second)) second += 2n
  return first * second
})()

const repeated = prime(1025)

const SMALL_FACTORS = Array.from({ length: 752 - 2 }, (_, index) => BigInt(index + 2))

const withoutSmallFactors = (numbers: (index: bigint) => bigint): bigint => {
  for (let index = 0n; ; index++) {
    const number = numbers(index)
    if (SMALL_FACTORS.every((factor) => number % factor !== 0n)) return number
  }
}

/**
 * A modulus of 2048 bits that Fermat's method factors in so many steps: m^2 - d^2, which it finds at m. It begins at the first
 * number whose square is larger, about d^2 / 2m before m.
 */
const factoredInSteps = (steps: bigint): bigint => {
  const twice = 2n * steps - 1n
  const root = 1n << 508n
  const middle = twice * root * root
  return withoutSmallFactors((index) => middle * middle - (twice * root + 2n * index + 1n) ** 2n)
}

const largest = withoutSmallFactors((index) => (1n << BigInt(MAX_RSA_BITS)) - 1n - 2n * index)

describe("the fault of an RSA public key", () => {
  const cases: ReadonlyArray<readonly [name: string, modulus: bigint, fault: string | undefined]> = [
    ["two random primes", HONEST, undefined],
    ["3072 bits", randomModulus(3072), undefined],
    ["nothing", 0n, "too_short"],
    ["one bit less than enough", (1n << BigInt(MIN_RSA_BITS - 1)) - 1n, "too_short"],
    ["1024 bits", randomModulus(1024), "too_short"],
    ["as many bits as are allowed", largest, undefined],
    ["one bit more than allowed", (1n << BigInt(MAX_RSA_BITS)) + 1n, "too_long"],
    ["an even one", 2n * prime(2048), "small_factor"],
    ["a multiple of 3", 3n * prime(2048), "small_factor"],
    ["a multiple of 751", 751n * prime(2048), "small_factor"],
    ["a multiple of 757, which is not checked", 757n * prime(2048), undefined],
    ["ROCA, made as the library does", ROCA, "roca"],
    ["ROCA, of a smart card", CARD, "roca"],
    ["primes that are close", close, "close_primes"],
    ["a square", repeated * repeated, "close_primes"],
    ["primes that Fermat's method finds in its hundredth step", factoredInSteps(100n), "close_primes"],
    ["primes that it would find in its next step", factoredInSteps(101n), undefined]
  ]
  for (const [name, modulus, fault] of cases) {
    it(`is ${fault ?? "none"} for ${name}`, () => {
      assert.strictEqual(rsaKeyFault({ modulus: bytesOf(modulus), exponent: USUAL_EXPONENT }), fault)
    })
  }

  it("does not depend on leading zeros", () => {
    for (const modulus of [new Uint8Array(0), new Uint8Array([...new Uint8Array(128), 0xff])]) {
      assert.strictEqual(rsaKeyFault({ modulus, exponent: USUAL_EXPONENT }), "too_short")
    }
    const honest = bytesOf(HONEST)
    const padded = (bytes: number) => new Uint8Array([...new Uint8Array(bytes - honest.length), ...honest])
    const most = (2 * MAX_RSA_BITS) / 8
    assert.isUndefined(rsaKeyFault({ modulus: padded(most), exponent: USUAL_EXPONENT }))
    assert.strictEqual(rsaKeyFault({ modulus: padded(most + 1), exponent: USUAL_EXPONENT }), "too_long")
  })

  const exponents: ReadonlyArray<readonly [bytes: ReadonlyArray<number>, fault: string | undefined]> = [
    [[], "exponent"],
    [[0], "exponent"],
    [[1], "exponent"],
    [[2], "exponent"],
    [[3], undefined],
    [[0, 0, 3], undefined],
    [[1, 0, 0], "exponent"],
    [[255, 255, 255, 255], undefined],
    [[1, 0, 0, 0, 1], "exponent"]
  ]
  for (const [bytes, fault] of exponents) {
    it(`is ${fault ?? "none"} for an exponent of the bytes [${bytes}]`, () => {
      const key = { modulus: bytesOf(HONEST), exponent: new Uint8Array(bytes) }
      assert.strictEqual(rsaKeyFault(key), fault)
    })
  }
})
