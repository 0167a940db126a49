import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { publicProblems } from "./ApiProblems.ts"
import { PUBLIC, RouteRule } from "./RouteRule.ts"

const Ok = Schema.Struct({ status: Schema.Literal("ok") })

const health = HttpApiEndpoint.get("health", "/healthz", { success: Ok, error: publicProblems() })
  .annotate(RouteRule, PUBLIC)
  .annotate(OpenApi.Summary, "Whether the process is up")

const ready = HttpApiEndpoint.get("ready", "/readyz", {
  success: Ok,
  error: publicProblems("store_unavailable")
})
  .annotate(RouteRule, PUBLIC)
  .annotate(
    OpenApi.Summary,
    "Whether requests can be served: the store can be reached, is up to date, and keeps what it acknowledges"
  )

/** For those who run the service (part 9). */
export class OperationsApi extends HttpApiGroup.make("operations").add(health, ready) {}
