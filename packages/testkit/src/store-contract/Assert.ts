/** The assertions of the contract, which depend on no test runner. */
import * as strict from "node:assert/strict"
import { isDeepStrictEqual } from "node:util"

const fail = (message: string, actual: unknown, expected: unknown): never => {
  throw new strict.AssertionError({ message, actual, expected, operator: "strictEqual" })
}

/** Whether every one of `wanted` is in `list`, each as often as it is wanted. */
const holdsAll = (list: ReadonlyArray<unknown>, wanted: ReadonlyArray<unknown>): boolean => {
  const left = [...list]
  return wanted.every((item) => {
    const at = left.findIndex((other) => isDeepStrictEqual(other, item))
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}

const assertions = {
  strictEqual: <A>(actual: A, expected: A, about?: string): void =>
    strict.strictEqual(actual, expected, about),
  notStrictEqual: <A>(actual: A, expected: A): void => strict.notStrictEqual(actual, expected),
  deepStrictEqual: <A>(actual: A, expected: A, about?: string): void =>
    strict.deepStrictEqual(actual, expected, about),
  notDeepEqual: <A>(actual: A, expected: A): void => strict.notDeepStrictEqual(actual, expected),
  isTrue: (value: unknown, about?: string): void => strict.strictEqual(value, true, about),
  isFalse: (value: unknown, about?: string): void => strict.strictEqual(value, false, about),
  isDefined: (value: unknown, about?: string): void => strict.notStrictEqual(value, undefined, about),
  isUndefined: (value: unknown, about?: string): void => strict.strictEqual(value, undefined, about),
  instanceOf: (value: unknown, type: new (...args: never) => unknown): void =>
    strict.ok(value instanceof type, `an instance of ${type.name} is expected`),
  isAbove: <A extends number | bigint>(value: A, bound: A): void => {
    if (!(value > bound)) fail("it is not above the bound", value, bound)
  },
  isAtLeast: <A extends number | bigint>(value: A, bound: A): void => {
    if (!(value >= bound)) fail("it is below the bound", value, bound)
  },
  isBelow: <A extends number | bigint>(value: A, bound: A): void => {
    if (!(value < bound)) fail("it is not below the bound", value, bound)
  },
  lengthOf: (list: { readonly length: number } | undefined, length: number): void =>
    strict.strictEqual(list?.length, length, "the number of entries differs"),
  include: (list: string | ReadonlyArray<unknown>, item: unknown): void => {
    if (!list.includes(item as never)) fail("it is not included", list, item)
  },
  notInclude: (list: string | ReadonlyArray<unknown>, item: unknown): void => {
    if (list.includes(item as never)) fail("it is included", list, item)
  },
  deepInclude: (list: ReadonlyArray<unknown>, item: unknown): void => {
    if (!holdsAll(list, [item])) fail("it is not included", list, item)
  },
  includeMembers: (list: ReadonlyArray<unknown>, items: ReadonlyArray<unknown>): void => {
    if (!holdsAll(list, items)) fail("not all are included", list, items)
  },
  sameMembers: (list: ReadonlyArray<unknown>, items: ReadonlyArray<unknown>): void => {
    if (list.length !== items.length || !holdsAll(list, items)) fail("the members differ", list, items)
  },
  sameDeepMembers: (list: ReadonlyArray<unknown>, items: ReadonlyArray<unknown>): void => {
    if (list.length !== items.length || !holdsAll(list, items)) fail("the members differ", list, items)
  },
  notProperty: (value: unknown, name: string): void => {
    strict.ok(
      typeof value !== "object" || value === null || !(name in value),
      `there is a member ${name}, which was to be absent`
    )
  }
}

/** Fails unless it holds, and has the other assertions as members. */
export const assert: ((holds: boolean, what?: string) => asserts holds) & typeof assertions = Object.assign(
  (holds: boolean, what?: string) => strict.ok(holds, what),
  assertions
)
