import { Deployment } from "@svc/domain/ports/Deployment"
import {
  cancelAuthorization,
  commitAuthorization,
  listAuthorizations,
  proposeAuthorization,
  readAuthorization,
  reportRefund
} from "@svc/domain/programs/Authorizations"
import { AuthorizationsApi } from "@svc/protocol/api/AuthorizationsApi"
import { Effect } from "effect"
import { answer, writeAnswer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"
import { pageQuery } from "./PageQuery.ts"

/** Authorizations (part 5). */
export const authorizationRoutes = groupRoutes(AuthorizationsApi, {
  propose: ({ params, write }) =>
    Effect.gen(function* () {
      const proposed = yield* proposeAuthorization({ ...write, mandateId: params.mandate_id })
      const { baseUrl } = yield* Deployment
      return writeAnswer(proposed, { location: `${baseUrl}/v1/authorizations/${proposed.resource.id}` })
    }),
  list: ({ organization, params, query }) =>
    Effect.map(
      listAuthorizations({
        organization: organization.id,
        mandateId: params.mandate_id,
        ...pageQuery(query),
        ...(query.state === undefined ? {} : { state: query.state })
      }),
      answer
    ),
  read: ({ organization, params }) =>
    Effect.map(
      readAuthorization({ organization: organization.id, authorizationId: params.authorization_id }),
      answer
    ),
  commit: ({ params, write }) =>
    Effect.map(commitAuthorization({ ...write, authorizationId: params.authorization_id }), (committed) =>
      writeAnswer(committed)
    ),
  cancel: ({ params, write }) =>
    Effect.map(cancelAuthorization({ ...write, authorizationId: params.authorization_id }), (cancelled) =>
      writeAnswer(cancelled)
    ),
  reportRefund: ({ params, write }) =>
    Effect.map(reportRefund({ ...write, authorizationId: params.authorization_id }), (reported) =>
      writeAnswer(reported)
    )
})
