/** Microseconds. Instants of the simulation are whole microseconds since the Unix epoch. */
export type Micros = number

export const MILLISECOND: Micros = 1000
export const SECOND: Micros = 1_000_000
export const MINUTE: Micros = 60 * SECOND
export const HOUR: Micros = 60 * MINUTE
export const DAY: Micros = 24 * HOUR
