import { Schema } from "effect"
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from "../ListPage.ts"

/** Most entries per policy period of GET periods, unless the query says otherwise. */
export const PERIODS_LIMIT_DEFAULT = 12

/** The path parameters. A malformed identifier is answered as an absent one, so its form is not checked here. */
export const mandateParams = {
  mandate_id: Schema.String.annotate({ description: "Identifier of the mandate, mnd_..." })
}
export const authorizationParams = {
  authorization_id: Schema.String.annotate({ description: "Identifier of the authorization, aut_..." })
}
export const subjectParams = {
  subject_reference: Schema.String.annotate({ description: "The subject reference, percent-encoded" })
}

/** 1 to 255 visible ASCII characters (part 3). */
export const IdempotencyKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/u)).annotate({
  description: "A key of the caller's own for each logical operation"
})
export const idempotencyHeader = { "idempotency-key": IdempotencyKey }

const limit = (byDefault: number) =>
  Schema.Number.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: LIST_LIMIT_MAX })).annotate({
    description: `1 to ${LIST_LIMIT_MAX}, by default ${byDefault}`
  })

/** The query of every list (part 1). */
export const listQuery = {
  limit: Schema.optionalKey(limit(LIST_LIMIT_DEFAULT)),
  cursor: Schema.optionalKey(
    Schema.String.annotate({ description: "next_cursor of the page before; opaque" })
  )
}

/** `limit` of GET periods: per policy period (part 4). */
export const periodsLimit = limit(PERIODS_LIMIT_DEFAULT)
