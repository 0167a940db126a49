import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { EventsApi } from "@svc/protocol/api/EventsApi"
import { LIST_LIMIT_DEFAULT } from "@svc/protocol/request/ListPage"
import { Effect } from "effect"
import { groupRoutes } from "./GroupRoutes.ts"
import { textPage } from "./TextPage.ts"

/** The events of an organization (part 8). */
export const eventRoutes = groupRoutes(EventsApi, {
  list: ({ organization, query }) =>
    Effect.map(
      readEventFeed({
        organization: organization.id,
        limit: query.limit ?? LIST_LIMIT_DEFAULT,
        ...(query.after === undefined ? {} : { after: query.after })
      }),
      (page) => ({ body: textPage(page) })
    )
})
