import * as fc from "fast-check"

/*
 * What a caller in the same process can give that no HTTP request can carry, or that HTTP refuses before a program sees it.
 */

/** A value by a name that a failed test can show. */
export interface HostileValue {
  readonly name: string
  readonly make: () => unknown
}

const named = (values: Readonly<Record<string, () => unknown>>): ReadonlyArray<HostileValue> =>
  Object.entries(values).map(([name, make]) => ({ name, make }))

class Instance {
  readonly kind = "SINGLE"
}

const nested = (levels: number): unknown => {
  let value: unknown = "deep"
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const cyclic = (): unknown => {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

const revoked = (target: object): unknown => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const throwing = (): never => {
  throw new RangeError("the trap's own error")
}

/** Larger than any body may be, in characters. */
const FAR_TOO_LARGE = 1_000_000

/** Nothing that JSON has: nowhere in a request is one of them right. */
export const NOT_JSON_VALUES = named({
  undefined: () => undefined,
  BigInt: () => 10n,
  symbol: () => Symbol("hostile"),
  function: () => () => "text",
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  "2^53": () => 2 ** 53,
  Date: () => new Date(0),
  Map: () => new Map([["kind", "SINGLE"]]),
  Set: () => new Set(["a"]),
  bytes: () => new Uint8Array(3),
  "instance of a class": () => new Instance(),
  "boxed string": () => Object("text"),
  "sparse array": () => Object.assign([], { 3: "a" }),
  "very long array": () => new Array(2 ** 32 - 1),
  "cyclic object": cyclic,
  "1000 levels": () => nested(1000),
  "33 levels": () => nested(33),
  "revoked object": () => revoked({}),
  "revoked array": () => revoked([]),
  "proxy that throws": () => new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  "array that lies about its length": () =>
    new Proxy([1], { get: (target, name) => (name === "length" ? "3" : Reflect.get(target, name)) }),
  "getter that throws": () => Object.defineProperty({}, "kind", { get: throwing, enumerable: true }),
  "toJSON that throws": () => ({ toJSON: throwing }),
  "lone surrogate": () => "user_\ud800",
  "U+0000": () => "user_\u0000",
  "name with U+0000": () => ({ "a\u0000": 1 }),
  "text of a megabyte": () => "a".repeat(FAR_TOO_LARGE),
  "text of many characters of 4 bytes": () => "\u{1f600}".repeat(FAR_TOO_LARGE / 2)
})

/** JSON that is right nowhere outside of a body. */
const WRONG_VALUES = named({
  null: () => null,
  "__proto__ member": () => JSON.parse('{"__proto__":{"admin":true}}') as unknown,
  "-1": () => -1,
  "1.5": () => 1.5,
  "text of 600 characters": () => "a".repeat(600)
})

/** What is right neither as an identifier, nor as an idempotency key, a cursor, a limit or an organization. */
export const HOSTILE_VALUES: ReadonlyArray<HostileValue> = [...NOT_JSON_VALUES, ...WRONG_VALUES]

/** Texts that are no identifier, and no cursor. */
export const WRONG_NAMES: ReadonlyArray<HostileValue> = named({
  "empty text": () => "",
  "identifier of another prefix": () => "evt_01kbcd2e3f4g5h6j7k8m9npqrs",
  "identifier in upper case": () => "MND_01KBCD2E3F4G5H6J7K8M9NPQRS",
  "identifier with U+0000": () => "mnd_01kbcd2e3f4g5h6j7k8m9npqr\u0000",
  "identifier with a lone surrogate": () => "aut_01kbcd2e3f4g5h6j7k8m9npqr\udfff",
  "identifier with a line end": () => "org_01kbcd2e3f4g5h6j7k8m9npqrs\n",
  "text of another script": () => "\u540d\u524d"
})

/** Texts that are no idempotency key. An empty one is none at all. */
export const WRONG_KEYS: ReadonlyArray<HostileValue> = named({
  "256 characters": () => "k".repeat(256),
  "a space": () => "two words",
  "a line end": () => "key\n",
  "a letter beyond ASCII": () => "schl\u00fcssel"
})

/** Numbers and texts that are no limit of a page. */
export const WRONG_LIMITS: ReadonlyArray<HostileValue> = named({
  "0": () => 0,
  "101": () => 101,
  "1e9": () => 1e9,
  text: () => "10"
})

/** One of some hostile values, shown by its name. */
export const anyOf = (values: ReadonlyArray<HostileValue>): fc.Arbitrary<HostileValue> =>
  fc.constantFrom(...values)
