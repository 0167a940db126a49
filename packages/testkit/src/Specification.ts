import { AssertionError, deepStrictEqual } from "node:assert/strict"

/** Decides commands on a state that follows from events, without effects. */
export interface Decider<State, Command, Event> {
  readonly initialState: State
  /** The events of a command. A refusal is thrown. */
  readonly decide: (state: State, command: Command) => ReadonlyArray<Event> | Event
  readonly evolve: (state: State, event: Event) => State
}

/** A refusal as it may be named: by its class, a part of its message, or some of its members. */
export type ExpectedRefusal =
  | (abstract new (
      ...args: never
    ) => unknown)
  | string
  | RegExp
  | Readonly<Record<string, unknown>>

/** What a command comes to, to be compared with what is expected of it. */
export interface Outcome<State, Event> {
  /** The events that the command leads to, none or several, in their order. */
  readonly then: (...expected: ReadonlyArray<Event>) => void
  /** The command is refused. */
  readonly thenRefused: (expected?: ExpectedRefusal) => void
  /** The state after the events of the command; a function is given it to look at. */
  readonly thenState: (expected: State | ((state: State) => void)) => void
}

/** Examples of a decider, to be written down. */
export interface Specification<State, Command, Event> {
  /** The events that have happened, in their order. */
  readonly given: (...events: ReadonlyArray<Event>) => {
    readonly when: (command: Command) => Outcome<State, Event>
  }
  /** As after no event. */
  readonly when: (command: Command) => Outcome<State, Event>
}

const isExpected = (refusal: unknown, expected: ExpectedRefusal | undefined): boolean => {
  if (expected === undefined) return true
  if (typeof expected === "function") return refusal instanceof expected
  const message = refusal instanceof Error ? refusal.message : String(refusal)
  if (typeof expected === "string") return message.includes(expected)
  if (expected instanceof RegExp) return expected.test(message)
  const given = refusal as Readonly<Record<string, unknown>>
  return Object.entries(expected).every(([name, value]) => given?.[name] === value)
}

/** What a refusal was to be, in words. */
const expectedWords = (expected: ExpectedRefusal | undefined): string => {
  if (typeof expected === "function") return expected.name
  return expected instanceof RegExp ? String(expected) : wordsOf(expected)
}

/** Compares as `deepStrictEqual` does; what differs is told after the title. */
const demandEqual = (actual: unknown, expected: unknown, title: string): void => {
  try {
    deepStrictEqual(actual, expected)
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    const message = `${title}\n${error.message}`
    throw new AssertionError({ message, actual, expected, operator: "deepStrictEqual" })
  }
}

/** Throws what a decider lacks, for whoever has no compiler. */
const demandDecider = (decider: unknown): void => {
  if (typeof decider !== "object" || decider === null)
    throw new TypeError("specification: a decider is an object with initialState, decide and evolve")
  for (const name of ["decide", "evolve"])
    if (typeof Reflect.get(decider, name) !== "function")
      throw new TypeError(`specification: the decider has no ${name}`)
}

const wordsOf = (value: unknown): string =>
  value instanceof Error
    ? `${value.name}: ${value.message}`
    : JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}n` : member))

type Decided<Event> = { readonly events: ReadonlyArray<Event> } | { readonly refusal: unknown }

/**
 * Specifies a decider by examples: given what has happened, when a command comes, then these are its events, or it is refused.
 * Failures name the command and compare the events; they need no test runner.
 *
 * @example
 * ```ts
 * specification(lending)
 *   .given({ type: "lent", to: "ada" })
 *   .when({ type: "lend", to: "grace" })
 *   .thenRefused("is lent")
 * ```
 */
export const specification = <State, Command, Event>(
  decider: Decider<State, Command, Event>
): Specification<State, Command, Event> => {
  demandDecider(decider)
  const { decide, evolve, initialState } = decider
  const whenAfter =
    (state: State) =>
    (command: Command): Outcome<State, Event> => {
      const decided = ((): Decided<Event> => {
        try {
          return { events: [decide(state, command)].flat() as ReadonlyArray<Event> }
        } catch (refusal) {
          return { refusal }
        }
      })()
      const events = (): ReadonlyArray<Event> => {
        if ("events" in decided) {
          if (decided.events.some((each) => each instanceof Promise))
            throw new TypeError("decide returned a promise, but a decider decides without effects")
          return decided.events
        }
        throw new Error(`${wordsOf(command)} is refused: ${wordsOf(decided.refusal)}`, {
          cause: decided.refusal
        })
      }
      return {
        // biome-ignore lint/suspicious/noThenProperty: given, when, then is how specifications are written; it is no promise.
        then: (...expected) => {
          if (expected.length > 0 && expected.every((each) => typeof each === "function"))
            throw new Error(
              `${wordsOf(command)} was awaited: call .then with the events that it leads to, or .thenRefused`
            )
          demandEqual(events(), expected, `${wordsOf(command)} leads to other events than expected`)
        },
        thenRefused: (expected) => {
          if ("events" in decided)
            throw new Error(`${wordsOf(command)} is not refused, but leads to ${wordsOf(decided.events)}`)
          if (!isExpected(decided.refusal, expected))
            throw new Error(
              `${wordsOf(command)} is refused for another reason than ${expectedWords(expected)}: ${wordsOf(decided.refusal)}`,
              { cause: decided.refusal }
            )
        },
        thenState: (expected) => {
          const after = events().reduce(evolve, state)
          if (typeof expected === "function") (expected as (state: State) => void)(after)
          else demandEqual(after, expected, `${wordsOf(command)} leads to another state than expected`)
        }
      }
    }
  return {
    given: (...history) => ({ when: whenAfter(history.reduce(evolve, initialState)) }),
    when: whenAfter(initialState)
  }
}
