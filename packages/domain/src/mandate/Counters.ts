import type { Counters } from "./MandateState.ts"

export const NO_USE: Counters = {
  committedAmount: 0n,
  reservedAmount: 0n,
  lateAmount: 0n,
  committedExecutions: 0,
  reservedExecutions: 0,
  lateExecutions: 0
}

export const reserve = (counters: Counters, amount: bigint): Counters => ({
  ...counters,
  reservedAmount: counters.reservedAmount + amount,
  reservedExecutions: counters.reservedExecutions + 1
})

export const release = (counters: Counters, amount: bigint): Counters => ({
  ...counters,
  reservedAmount: counters.reservedAmount - amount,
  reservedExecutions: counters.reservedExecutions - 1
})

export const commitReserved = (counters: Counters, amount: bigint): Counters => {
  const released = release(counters, amount)
  return {
    ...released,
    committedAmount: released.committedAmount + amount,
    committedExecutions: released.committedExecutions + 1
  }
}

export const addLate = (counters: Counters, amount: bigint): Counters => ({
  ...counters,
  lateAmount: counters.lateAmount + amount,
  lateExecutions: counters.lateExecutions + 1
})

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * A sum as the interface carries it. Late use is counted over every cap and may pass 2^53-1; what is shown stops
 * there, while decisions keep to the exact sum.
 */
export const shownAmount = (amount: bigint): number =>
  amount > LARGEST ? Number.MAX_SAFE_INTEGER : Number(amount)

/** The six counters of the interface. */
export const shownCounters = (counters: Counters) => ({
  committed_amount: shownAmount(counters.committedAmount),
  reserved_amount: shownAmount(counters.reservedAmount),
  late_amount: shownAmount(counters.lateAmount),
  committed_executions: counters.committedExecutions,
  reserved_executions: counters.reservedExecutions,
  late_executions: counters.lateExecutions
})
