import type { ListPage } from "@svc/protocol/ListPage"
import { JsonText } from "./Answer.ts"

/** A page of entries that are JSON already: events are shown as the texts that were hashed, not as texts made again from them. */
export const textPage = (page: ListPage<string>): JsonText =>
  new JsonText(
    `{"data":[${page.data.join(",")}],"has_more":${page.has_more},"next_cursor":${JSON.stringify(page.next_cursor)}}`
  )
