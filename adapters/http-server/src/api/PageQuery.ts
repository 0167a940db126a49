import { LIST_LIMIT_DEFAULT } from "@svc/protocol/request/ListPage"

/** The `limit` of a list request, with its default, and its `cursor`, if any. */
export const pageQuery = (query: {
  readonly limit?: number
  readonly cursor?: string
}): { readonly limit: number; readonly cursor?: string } => ({
  limit: query.limit ?? LIST_LIMIT_DEFAULT,
  ...(query.cursor === undefined ? {} : { cursor: query.cursor })
})
