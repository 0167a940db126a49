import { bytesToHex } from "@noble/hashes/utils.js"

/** Bits of an RSA modulus (NIST SP 800-131A); more than the maximum only costs time. */
export const MIN_RSA_BITS = 2048
export const MAX_RSA_BITS = 8192

/** NIST SP 800-89 section 5.3.3: no factor of a modulus is smaller than this. */
const SMALLEST_FACTOR = 752

/** Steps of Fermat's factorization that a modulus must withstand (CA/Browser Forum, section 6.1.1.3). */
const FERMAT_ROUNDS = 100

/** Longest public exponent, in bytes; it is 65537 nearly everywhere, which has three. */
const MAX_EXPONENT_BYTES = 4
const SMALLEST_EXPONENT = 3n

/** Why an RSA public key protects nothing, or is more than is looked at. */
export type RsaKeyFault = "too_short" | "too_long" | "exponent" | "small_factor" | "roca" | "close_primes"

const oddPrimesBelow = (limit: number): ReadonlyArray<number> => {
  const primes: Array<number> = []
  for (let candidate = 3; candidate < limit; candidate += 2) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  }
  return primes
}

const SMALL_PRIMES = oddPrimesBelow(SMALLEST_FACTOR)

/** Generates the group that primes of the faulty Infineon library lie in, for each small prime. */
const ROCA_GENERATOR = 65_537

/** Largest of the 126 small primes that the library builds keys of 1984 to 3936 bits from, and longer ones too. */
const ROCA_LARGEST_PRIME = 701

const powersModulo = (prime: number): ReadonlySet<number> => {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * ROCA_GENERATOR) % prime) powers.add(power)
  return powers
}

const ROCA_RESIDUES = SMALL_PRIMES.filter((prime) => prime <= ROCA_LARGEST_PRIME).map(
  (prime) => [BigInt(prime), powersModulo(prime)] as const
)

/**
 * Whether a modulus has the fingerprint of CVE-2017-15361 (ROCA): both primes are k * M + (65537^a mod M), M the product of
 * small primes, so that the modulus is a power of 65537 modulo each of them, which no honest one is but by a chance of less than 2^-100.
 */
const hasRocaFingerprint = (modulus: bigint): boolean =>
  ROCA_RESIDUES.every(([prime, powers]) => powers.has(Number(modulus % prime)))

/** The whole part of a square root, by Newton's method. */
const squareRoot = (value: bigint): bigint => {
  if (value < 2n) return value
  let root = 1n << BigInt((value.toString(16).length + 1) * 2)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** Whether Fermat's method finds the factors, which are then so close that anybody can (CVE-2022-26320), or equal. */
const hasClosePrimes = (modulus: bigint): boolean => {
  const root = squareRoot(modulus)
  let middle = root * root === modulus ? root : root + 1n
  for (let round = 0; round < FERMAT_ROUNDS; round++, middle++) {
    const square = middle * middle - modulus
    const half = squareRoot(square)
    if (half * half === square) return true
  }
  return false
}

const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x0${bytesToHex(bytes)}`)

const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length)

const modulusFault = (modulus: bigint): RsaKeyFault | undefined => {
  const bits = bitLength(modulus)
  if (bits < MIN_RSA_BITS) return "too_short"
  if (bits > MAX_RSA_BITS) return "too_long"
  if (hasRocaFingerprint(modulus)) return "roca"
  if (modulus % 2n === 0n || SMALL_PRIMES.some((prime) => modulus % BigInt(prime) === 0n))
    return "small_factor"
  return hasClosePrimes(modulus) ? "close_primes" : undefined
}

/**
 * What is wrong with an RSA public key, given as big-endian bytes, if anything is: an exponent that is even, below 3
 * (RFC 8017 section 3.1) or beyond 32 bits; and of the modulus its length, a small factor, the fingerprint of ROCA, or
 * primes too close to each other. Whether the modulus is a prime itself is not looked at.
 */
export const rsaKeyFault = (key: {
  readonly modulus: Uint8Array
  readonly exponent: Uint8Array
}): RsaKeyFault | undefined => {
  // More than that and the value need not be known.
  if (key.modulus.length > (2 * MAX_RSA_BITS) / 8) return "too_long"
  const exponent = key.exponent.length > MAX_EXPONENT_BYTES ? 0n : integerOf(key.exponent)
  if (exponent < SMALLEST_EXPONENT || exponent % 2n === 0n) return "exponent"
  return modulusFault(integerOf(key.modulus))
}
