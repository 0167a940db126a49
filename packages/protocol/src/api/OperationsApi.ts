import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { described } from "../Described.ts"
import { publicProblems } from "./ApiProblems.ts"
import { PUBLIC, RouteRule } from "./RouteRule.ts"

const Ok = Schema.Struct({ status: described(Schema.Literal("ok"), "Always ok.", "ok") }).annotate({
  identifier: "Ok",
  description: "It is."
})

const health = HttpApiEndpoint.get("health", "/healthz", { success: Ok, error: publicProblems() })
  .annotate(OpenApi.Identifier, "getHealth")
  .annotate(RouteRule, PUBLIC)
  .annotate(OpenApi.Summary, "Check liveness")
  .annotate(OpenApi.Description, "Whether the process is up: reads nothing and depends on nothing.")

const ready = HttpApiEndpoint.get("ready", "/readyz", {
  success: Ok,
  error: publicProblems()
})
  .annotate(OpenApi.Identifier, "getReadiness")
  .annotate(RouteRule, PUBLIC)
  .annotate(OpenApi.Summary, "Check readiness")
  .annotate(
    OpenApi.Description,
    "Whether requests can be served: the store can be reached, is up to date, and keeps what it acknowledges. Otherwise 503 store_unavailable, whose detail says what is wrong."
  )

/** For those who run the service (part 9). */
export class OperationsApi extends HttpApiGroup.make("operations")
  .add(health, ready)
  .annotate(OpenApi.Title, "Operations")
  .annotate(OpenApi.Description, "For those who run the service. Neither needs an API key.") {}
