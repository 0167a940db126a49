/** An active passkey of a subject. */
export interface Passkey {
  readonly id: string
  readonly created_at: string
  /** Absent before its first approval. */
  readonly last_used_at?: string
  readonly backup_eligible: boolean
}
