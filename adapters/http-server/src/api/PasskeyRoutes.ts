import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import { PasskeysApi } from "@svc/protocol/api/PasskeysApi"
import { Effect } from "effect"
import { answer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"
import { pageQuery } from "./PageQuery.ts"

/** The passkeys of a subject (part 6). */
export const passkeyRoutes = groupRoutes(PasskeysApi, {
  list: ({ organization, params, query }) =>
    Effect.map(
      listPasskeys({
        organization: organization.id,
        subjectReference: params.subject_reference,
        ...pageQuery(query)
      }),
      answer
    ),
  retire: ({ organization, params }) =>
    Effect.map(
      retirePasskey({
        organization: organization.id,
        subjectReference: params.subject_reference,
        passkeyId: params.passkey_id
      }),
      answer
    )
})
