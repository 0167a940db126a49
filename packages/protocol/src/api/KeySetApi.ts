import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeySet } from "../KeySet.ts"
import { publicProblems } from "./ApiProblems.ts"
import { PUBLIC, RouteRule } from "./RouteRule.ts"

const read = HttpApiEndpoint.get("read", "/.well-known/jwks.json", {
  success: KeySet.annotate({ identifier: "KeySet" }),
  error: publicProblems("store_unavailable")
})
  .annotate(RouteRule, PUBLIC)
  .annotate(OpenApi.Summary, "Read the keys that evidence is verified with")

/** The keys that evidence is verified with (part 7). */
export class KeySetApi extends HttpApiGroup.make("keySet").add(read) {}
