import { Schema } from "effect"
import { described } from "../Described.ts"
import { integerBetween } from "../Mandate.ts"
import { IDEMPOTENCY_KEY_PATTERN } from "../request/IdempotencyKey.ts"
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from "../request/ListPage.ts"

/** Most entries per policy period of GET periods, unless the query says otherwise. */
export const PERIODS_LIMIT_DEFAULT = 12

/** The path parameters. A malformed identifier is answered as an absent one, so its form is not checked here. */
export const mandateParams = {
  mandate_id: described(Schema.String, "Identifier of the mandate, mnd_...", "mnd_01kbcd2e3f4g5h6j7k8m9npqrs")
}
export const authorizationParams = {
  authorization_id: described(
    Schema.String,
    "Identifier of the authorization, aut_...",
    "aut_01kbcd2e3f4g5h6j7k8m9npqrs"
  )
}
export const subjectParams = {
  subject_reference: described(
    Schema.String,
    "The subject_reference of its mandates, percent-encoded; 1 to 255 characters.",
    "user_8f2"
  )
}

/** 1 to 255 visible ASCII characters (part 3). */
export const IdempotencyKey = described(
  Schema.String.check(Schema.isPattern(IDEMPOTENCY_KEY_PATTERN)),
  "A key of your own for each operation: 1 to 255 visible ASCII characters, a UUID for instance. Send the same key when you repeat the operation. Scoped to the organization.",
  "9f3c1f52-3b8e-4a6c-9f1e-7d2a5b6c8d90"
)
export const idempotencyHeader = { "idempotency-key": IdempotencyKey }

const limit = (byDefault: number) =>
  described(
    integerBetween(1, LIST_LIMIT_MAX),
    `Most entries of the answer: 1 to ${LIST_LIMIT_MAX}, by default ${byDefault}.`,
    byDefault
  )

/** The query of every list (part 1). */
export const listQuery = {
  limit: Schema.optionalKey(limit(LIST_LIMIT_DEFAULT)),
  cursor: Schema.optionalKey(
    described(
      Schema.String,
      "next_cursor of the page before, under the same filters; opaque. Absent: from the beginning."
    )
  )
}

/** `limit` of GET periods: per policy period (part 4). */
export const periodsLimit = limit(PERIODS_LIMIT_DEFAULT)
