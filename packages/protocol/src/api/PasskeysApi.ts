import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { listPage } from "../ListPage.ts"
import { Passkey } from "../Passkey.ts"
import { readProblems, writeProblems } from "./ApiProblems.ts"
import { listQuery, subjectParams } from "./RequestParts.ts"
import { PLAIN_WRITE, READ, RouteRule } from "./RouteRule.ts"

const list = HttpApiEndpoint.get("list", "/v1/subjects/:subject_reference/passkeys", {
  params: subjectParams,
  query: listQuery,
  success: listPage(Passkey.annotate({ identifier: "Passkey" })),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the passkeys of a subject, newest first")

const retire = HttpApiEndpoint.delete("retire", "/v1/subjects/:subject_reference/passkeys/:passkey_id", {
  params: {
    ...subjectParams,
    passkey_id: Schema.String.annotate({ description: "Identifier of the passkey, psk_..." })
  },
  success: HttpApiSchema.NoContent,
  error: writeProblems("not_found")
})
  .annotate(RouteRule, PLAIN_WRITE)
  .annotate(OpenApi.Summary, "Retire a passkey of a subject")

/** The passkeys of a subject, outside an approval (part 6). */
export class PasskeysApi extends HttpApiGroup.make("passkeys").add(list, retire) {}
