import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync
} from "node:fs"
import { join } from "node:path"
import type { ExecutionReport, StoredOpening } from "@svc/client"

/** What became of an order. */
export type Outcome =
  | { readonly status: "paid"; readonly payment: string }
  /** Nothing was paid, and nothing will be. */
  | { readonly status: "not paid"; readonly reason: string }

/** What the agent knows of an order. Each member is kept before the step that it belongs to. */
export interface Order {
  readonly id: string
  readonly mandate: string
  /** In cents. */
  readonly amount: number
  /** Kept before the proposal is sent, which can then be sent again. */
  readonly opening?: StoredOpening
  readonly authorization?: string
  /** Kept before the provider is asked to pay: from then on it may have paid. */
  readonly isPaymentBegun?: true
  /** What was reported to the service without an answer. */
  readonly report?: ExecutionReport
  readonly outcome?: Outcome
}

export interface Orders {
  readonly find: (id: string) => Order | undefined
  readonly unfinished: () => ReadonlyArray<Order>
  /** Returns when the order is on the disk. */
  readonly save: (order: Order) => void
}

const NAME = /^[\w-]{1,64}$/u

const flush = (path: string, flags: "r" | "w", text = ""): void => {
  const file = openSync(path, flags)
  try {
    if (flags === "w") writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Orders in a folder, each in a file of its own that is replaced as a whole. */
export const openOrders = (folder: string): Orders => {
  mkdirSync(folder, { recursive: true })
  const all = (): ReadonlyArray<Order> =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")))
  return {
    find: (id) => all().find((order) => order.id === id),
    unfinished: () => all().filter(({ outcome }) => outcome === undefined),
    save: (order) => {
      if (!NAME.test(order.id)) throw new TypeError("an order is named by 1 to 64 letters, digits, _ and -")
      const path = join(folder, `${order.id}.json`)
      flush(`${path}.new`, "w", JSON.stringify(order, null, 2))
      renameSync(`${path}.new`, path)
      flush(folder, "r")
    }
  }
}
