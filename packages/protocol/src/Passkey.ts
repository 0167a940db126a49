import { Schema } from "effect"
import { described } from "./Described.ts"
import { PasskeyId } from "./Identifier.ts"
import { serviceTimestamp } from "./TimestampSchema.ts"

/** A passkey of a subject as GET /v1/subjects/{subject_reference}/passkeys lists it (part 6). */
export const Passkey = Schema.Struct({
  id: described(PasskeyId, "Identifier of the passkey.", "psk_01kbcd2e3f4g5h6j7k8m9npqrs" as never),
  created_at: serviceTimestamp("When the subject created it."),
  last_used_at: Schema.optionalKey(serviceTimestamp("When it last approved something; absent before.")),
  backup_eligible: described(
    Schema.Boolean,
    "Whether it may be on several devices of the subject, as synchronized passkeys are.",
    true
  )
})
export type Passkey = typeof Passkey.Type
