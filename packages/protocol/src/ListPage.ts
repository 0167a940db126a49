import { Schema } from "effect"

/** Entries of a list answer unless the query says otherwise. */
export const LIST_LIMIT_DEFAULT = 25
/** Most entries of one list answer. */
export const LIST_LIMIT_MAX = 100

/** A page of a list (part 1). `next_cursor` is the one member of the interface that may be null. */
export const listPage = <S extends Schema.Top>(item: S) =>
  Schema.Struct({
    data: Schema.Array(item),
    has_more: Schema.Boolean,
    next_cursor: Schema.NullOr(Schema.String)
  })

export interface ListPage<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
  readonly next_cursor: string | null
}
