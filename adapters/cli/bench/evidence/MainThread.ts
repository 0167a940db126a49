/** What a server tells about its process. */
export interface MainThread {
  /** Longest time that the main thread did nothing else, in milliseconds. */
  readonly longestDelayMs: number
  readonly p99DelayMs: number
  /** Most memory that the process had since its start, in bytes. */
  readonly peakBytes: number
}
