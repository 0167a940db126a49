import { Schema } from "effect"
import { PasskeyId } from "./Identifier.ts"

/** A passkey of a subject as GET /v1/subjects/{subject_reference}/passkeys lists it (part 6). */
export const Passkey = Schema.Struct({
  id: PasskeyId,
  created_at: Schema.String,
  last_used_at: Schema.optionalKey(Schema.String),
  backup_eligible: Schema.Boolean
})
export type Passkey = typeof Passkey.Type
