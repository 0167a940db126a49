import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { FeedEvent } from "../Journal.ts"
import { readProblems } from "./ApiProblems.ts"
import { listQuery } from "./RequestParts.ts"
import { READ, RouteRule } from "./RouteRule.ts"

const list = HttpApiEndpoint.get("list", "/v1/events", {
  query: {
    limit: listQuery.limit,
    after: Schema.optionalKey(
      Schema.String.annotate({
        description:
          "next_cursor of an earlier answer; opaque, and good for as long as the service's data is not put back to an earlier state, after which it is invalid_cursor for good"
      })
    )
  },
  success: Schema.Struct({
    data: Schema.Array(FeedEvent.annotate({ identifier: "FeedEvent" })),
    has_more: Schema.Boolean,
    next_cursor: Schema.String.annotate({
      description: "Where to go on from, at the end of the list too: what is recorded later comes after it"
    })
  }),
  error: readProblems("invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the events of all mandates, oldest first; none is ever skipped")
  .annotate(
    OpenApi.Description,
    "How a receiver catches up with what it missed. Items are the journal's objects with their mandate_id, in another shape than the body of a webhook; id is that of both. A page may hold fewer events than the limit when they are large: go on while has_more is true."
  )

/** The events of an organization (part 8). */
export class EventsApi extends HttpApiGroup.make("events").add(list) {}
