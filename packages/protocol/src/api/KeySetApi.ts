import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeySet } from "../evidence/KeySet.ts"
import { publicProblems } from "./ApiProblems.ts"
import { PUBLIC, RouteRule } from "./RouteRule.ts"

const read = HttpApiEndpoint.get("read", "/.well-known/jwks.json", {
  success: KeySet.annotate({
    identifier: "KeySet",
    description: "The keys that evidence is verified with, as a JSON Web Key Set (RFC 7517)."
  }),
  error: publicProblems()
})
  .annotate(OpenApi.Identifier, "getKeySet")
  .annotate(RouteRule, PUBLIC)
  .annotate(OpenApi.Summary, "Read the key set")
  .annotate(
    OpenApi.Description,
    "The keys that evidence is verified with. Look a kid up here and nowhere else; an unknown one is a reason to fetch the set anew, then to refuse."
  )

/** The keys that evidence is verified with (part 7). */
export class KeySetApi extends HttpApiGroup.make("keySet")
  .add(read)
  .annotate(OpenApi.Title, "Signing keys")
  .annotate(OpenApi.Description, "The public keys that evidence is verified with.") {}
