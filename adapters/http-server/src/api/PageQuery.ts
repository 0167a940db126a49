import { LIST_LIMIT_DEFAULT } from "@svc/protocol/ListPage"

/** `limit` with its default, and `cursor` where one was sent. */
export const pageOf = (query: {
  readonly limit?: number
  readonly cursor?: string
}): { readonly limit: number; readonly cursor?: string } => ({
  limit: query.limit ?? LIST_LIMIT_DEFAULT,
  ...(query.cursor === undefined ? {} : { cursor: query.cursor })
})
