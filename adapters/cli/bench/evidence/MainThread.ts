/** What a server tells about its process. */
export interface MainThread {
  /** Longest time that a timer was late, in milliseconds; on a busy machine the thread may have waited for a processor. */
  readonly longestDelayMs: number
  readonly p99DelayMs: number
  /** Most processor time that the main thread used between two turns of a timer, in milliseconds. */
  readonly longestWorkMs: number
  /** Most memory that the process had since its start, in bytes. */
  readonly peakBytes: number
}
