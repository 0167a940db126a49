/** Pause of a worker that found less than it could do at a time, in milliseconds. */
export const IDLE_PAUSE_MILLISECONDS = 1000
/** Longest pause after failures in a row of the store itself, in milliseconds; it doubles up to there. */
export const LONGEST_PAUSE_MILLISECONDS = 15_000

/** Pause after so many failures in a row of the store, in milliseconds. */
export const pauseAfterFailures = (failures: number): number =>
  Math.min(IDLE_PAUSE_MILLISECONDS * 2 ** (failures - 1), LONGEST_PAUSE_MILLISECONDS)
