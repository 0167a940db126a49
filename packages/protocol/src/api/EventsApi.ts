import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { described } from "../Described.ts"
import { FeedEvent } from "../Journal.ts"
import { readProblems } from "./ApiProblems.ts"
import { listQuery } from "./RequestParts.ts"
import { READ, RouteRule } from "./RouteRule.ts"

const list = HttpApiEndpoint.get("list", "/v1/events", {
  query: {
    limit: listQuery.limit,
    after: Schema.optionalKey(
      described(
        Schema.String,
        "next_cursor of an earlier answer; opaque, and good for as long as the service's data is not put back to an earlier state, after which it is invalid_cursor for good. Absent: from the beginning."
      )
    )
  },
  success: Schema.Struct({
    data: described(
      Schema.Array(
        FeedEvent.annotate({
          identifier: "FeedEvent",
          description: "An event of a mandate's journal, and whose it is."
        })
      ),
      "The events after the cursor, oldest first, at most limit."
    ),
    has_more: described(Schema.Boolean, "Whether there are more events already.", false),
    next_cursor: described(
      Schema.String,
      "Where to go on from, at the end of the list too: what is recorded later comes after it. Opaque."
    )
  }).annotate({ identifier: "FeedPage", description: "A page of the feed." }),
  error: readProblems("invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listEvents")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List events")
  .annotate(
    OpenApi.Description,
    "Of all mandates, oldest first; none is ever skipped. How a receiver catches up with what it missed. Items are the journal's objects with their mandate_id, in another shape than the body of a webhook; id is that of both. A page may hold fewer events than the limit when they are large: go on while has_more is true."
  )

/** The events of an organization (part 8). */
export class EventsApi extends HttpApiGroup.make("events")
  .add(list)
  .annotate(OpenApi.Title, "Events")
  .annotate(
    OpenApi.Description,
    "The feed of everything that happens to the mandates of the organization."
  ) {}
