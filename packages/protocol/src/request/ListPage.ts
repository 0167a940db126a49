import { Schema } from "effect"
import { described } from "../Described.ts"

/** Entries of a page of a list unless the query says otherwise. */
export const LIST_LIMIT_DEFAULT = 25
/** Most entries of one page of a list. */
export const LIST_LIMIT_MAX = 100

/** A page of a list (part 1). `next_cursor` is the one member of the interface that may be null. */
export const listPage = <S extends Schema.Top>(item: S) =>
  Schema.Struct({
    data: described(Schema.Array(item), "The entries of this page, at most limit."),
    has_more: described(Schema.Boolean, "Whether there is another page.", false),
    next_cursor: described(
      Schema.NullOr(Schema.String),
      "The cursor of the next page; null at the end. Opaque, and good for this list and these filters.",
      null
    )
  }).annotate({ description: "A page of the list." })

export interface ListPage<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
  readonly next_cursor: string | null
}
