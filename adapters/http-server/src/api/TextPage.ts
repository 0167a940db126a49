import type { ListPage } from "@svc/protocol/request/ListPage"
import { JsonText } from "./Answer.ts"

/** A page of events as the very JSON texts that were hashed, since serializing them again could differ. */
export const textPage = (page: ListPage<string>): JsonText =>
  new JsonText(
    `{"data":[${page.data.join(",")}],"has_more":${page.has_more},"next_cursor":${JSON.stringify(page.next_cursor)}}`
  )
