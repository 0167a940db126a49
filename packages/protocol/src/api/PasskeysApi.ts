import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { described } from "../Described.ts"
import { Passkey } from "../Passkey.ts"
import { listPage } from "../request/ListPage.ts"
import { readProblems, writeProblems } from "./ApiProblems.ts"
import { listQuery, subjectParams } from "./RequestParts.ts"
import { PLAIN_WRITE, READ, RouteRule } from "./RouteRule.ts"

const list = HttpApiEndpoint.get("list", "/v1/subjects/:subject_reference/passkeys", {
  params: subjectParams,
  query: listQuery,
  success: listPage(
    Passkey.annotate({ identifier: "Passkey", description: "An active passkey of a subject." })
  ).annotate({ identifier: "PasskeyPage" }),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listPasskeys")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List passkeys")
  .annotate(OpenApi.Description, "Of a subject, newest first; retired ones are left out.")

const retire = HttpApiEndpoint.delete("retire", "/v1/subjects/:subject_reference/passkeys/:passkey_id", {
  params: {
    ...subjectParams,
    passkey_id: described(
      Schema.String,
      "Identifier of the passkey, psk_...",
      "psk_01kbcd2e3f4g5h6j7k8m9npqrs"
    )
  },
  success: HttpApiSchema.NoContent,
  error: writeProblems("not_found")
})
  .annotate(OpenApi.Identifier, "retirePasskey")
  .annotate(RouteRule, PLAIN_WRITE)
  .annotate(OpenApi.Summary, "Retire a passkey")
  .annotate(OpenApi.Description, "It approves nothing from then on. Retiring it again is 204 too.")

/** The passkeys of a subject, outside an approval (part 6). */
export class PasskeysApi extends HttpApiGroup.make("passkeys")
  .add(list, retire)
  .annotate(OpenApi.Title, "Passkeys")
  .annotate(
    OpenApi.Description,
    "The passkeys of a subject. To let them create another, make sure who they are, retire the lost one, and open a session whose identity assertion carries svc_enrol: true."
  ) {}
