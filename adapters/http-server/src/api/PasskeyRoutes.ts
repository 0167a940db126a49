import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import { NotFound } from "@svc/domain/Refusals"
import { PasskeysApi } from "@svc/protocol/api/PasskeysApi"
import { Text } from "@svc/protocol/Text"
import { Effect, Schema } from "effect"
import { answer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"
import { pageQuery } from "./PageQuery.ts"

const isReference = Schema.is(Text)

/** A path segment that is not a subject reference is treated like an unknown one. */
const subjectReferenceOf = (params: {
  readonly subject_reference: string
}): Effect.Effect<string, NotFound> =>
  isReference(params.subject_reference)
    ? Effect.succeed(params.subject_reference)
    : Effect.fail(new NotFound())

/** The passkeys of a subject (part 6). */
export const passkeyRoutes = groupRoutes(PasskeysApi, {
  list: ({ organization, params, query }) =>
    Effect.flatMap(subjectReferenceOf(params), (subjectReference) =>
      Effect.map(
        listPasskeys({ organization: organization.id, subjectReference, ...pageQuery(query) }),
        answer
      )
    ),
  retire: ({ organization, params }) =>
    Effect.flatMap(subjectReferenceOf(params), (subjectReference) =>
      Effect.map(
        retirePasskey({ organization: organization.id, subjectReference, passkeyId: params.passkey_id }),
        answer
      )
    )
})
