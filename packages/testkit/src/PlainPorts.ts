import { types } from "node:util"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { Context, Effect, type Exit, Layer } from "effect"

/** Values that have no members of their own. */
const PRIMITIVES = new Set(["undefined", "boolean", "number", "bigint", "string"])

/** Whether an object is a list or has no class, in whatever context of Node it was made. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  // The prototype of lists is one itself; that of a class which extends them is not.
  return Array.isArray(value)
    ? Array.isArray(prototype)
    : prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * The first part of a value that `structuredClone` would refuse or change, in words: data is texts, numbers, booleans, lists,
 * maps, and objects without a class. Undefined if there is none.
 */
export const firstNotPlain = (value: unknown, place: string): string | undefined => {
  if (value === null || PRIMITIVES.has(typeof value)) return undefined
  if (typeof value !== "object") return `${place} is a ${typeof value}`
  if (types.isMap(value)) {
    for (const [key, entry] of value) {
      const found = firstNotPlain(entry, `${place}.get(${JSON.stringify(key)})`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isPlain(value)) return `${place} is an instance of ${value.constructor.name}`
  for (const [name, entry] of Object.entries(value)) {
    const found = firstNotPlain(entry, Array.isArray(value) ? `${place}[${name}]` : `${place}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** Dies where a value is not plain data. */
const demandPlain = (value: unknown, place: string): Effect.Effect<void> => {
  const found = firstNotPlain(value, place)
  return found === undefined
    ? Effect.void
    : Effect.die(
        new TypeError(
          `${found}: what a store is asked and what it answers is plain data, to be copied or sent`
        )
      )
}

/** A call of a port, and what came of it so far. */
export interface PortCall {
  /** Such as `MandateStore.append`. */
  readonly operation: string
  readonly input: ReadonlyArray<unknown>
  /** Absent as long as it is under way. */
  exit?: Exit.Exit<unknown, unknown>
}

/** Is told of each call of a port when it begins. */
export type CallNote = (call: PortCall) => void

const plainPort = <Port extends object>(portName: string, port: Port, note: CallNote): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const operation: unknown = Reflect.get(target, name)
      const place = `${portName}.${String(name)}`
      const answered = (answer: Effect.Effect<unknown, unknown>, input: ReadonlyArray<unknown>) =>
        Effect.suspend(() => {
          const call: PortCall = { operation: place, input }
          note(call)
          return answer.pipe(
            Effect.onExit((exit) => Effect.sync(() => void Object.assign(call, { exit }))),
            Effect.tap((output) => demandPlain(output, `the answer of ${place}`))
          )
        })
      if (Effect.isEffect(operation)) return answered(operation as Effect.Effect<unknown, unknown>, [])
      if (typeof operation !== "function") return operation
      return (...input: ReadonlyArray<unknown>) =>
        Effect.andThen(
          demandPlain(input.length === 1 ? input[0] : input, `the input of ${place}`),
          answered(
            Effect.suspend(() => operation.apply(target, input) as Effect.Effect<unknown, unknown>),
            input
          )
        )
    }
  })

/**
 * The same ports, which die where they are asked, or answer, with anything but plain data. What else is there stays. `note` is told
 * of each call.
 */
export const plainPorts = <Provided>(
  ports: Context.Context<Provided | StoragePorts>,
  note: CallNote = () => undefined
): Context.Context<Provided | StoragePorts> => {
  const plain = <Id extends StoragePorts, Port extends object>(tag: Context.Key<Id, Port>, name: string) =>
    Context.make(tag, plainPort(name, Context.get(ports as Context.Context<Id>, tag), note))
  return Context.mergeAll(
    ports,
    plain(MandateStore, "MandateStore"),
    plain(SubjectStore, "SubjectStore"),
    plain(DueLeases, "DueLeases"),
    plain(EventFeed, "EventFeed"),
    plain(WebhookStore, "WebhookStore"),
    plain(Organizations, "Organizations"),
    plain(StoreCleaning, "StoreCleaning"),
    plain(StoreHealth, "StoreHealth")
  ) as Context.Context<Provided | StoragePorts>
}

/** A store held to plain data by {@link plainPorts}. */
export const plainStore = <Provided, E, R>(
  store: Layer.Layer<Provided | StoragePorts, E, R>
): Layer.Layer<Provided | StoragePorts, E, R> =>
  Layer.effectContext(Effect.map(Layer.build(store), (ports) => plainPorts(ports)))
