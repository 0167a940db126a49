import { Deployment } from "@svc/domain/ports/Deployment"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import {
  createMandate,
  listEvents,
  listMandates,
  listPeriods,
  readMandate,
  revokeMandate
} from "@svc/domain/programs/Mandates"
import { MandatesApi } from "@svc/protocol/api/MandatesApi"
import { PERIODS_LIMIT_DEFAULT } from "@svc/protocol/api/RequestParts"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import type { Timestamp } from "@svc/protocol/TimestampSchema"
import { Effect } from "effect"
import { FailedCredentials } from "../gate/FailedCredentials.ts"
import { answer, writeAnswer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"
import { pageQuery } from "./PageQuery.ts"
import { textPage } from "./TextPage.ts"

/** Mandates and approval sessions (parts 4 and 6). */
export const mandateRoutes = groupRoutes(MandatesApi, {
  create: ({ write }) =>
    Effect.gen(function* () {
      const created = yield* createMandate(write)
      const { baseUrl } = yield* Deployment
      return writeAnswer(created, { location: `${baseUrl}/v1/mandates/${created.resource.id}` })
    }),
  list: ({ organization, query }) =>
    Effect.map(
      listMandates({
        organization: organization.id,
        ...pageQuery(query),
        ...(query.state === undefined ? {} : { state: query.state }),
        ...(query.subject_reference === undefined ? {} : { subjectReference: query.subject_reference })
      }),
      answer
    ),
  read: ({ organization, params }) =>
    Effect.map(readMandate({ organization: organization.id, mandateId: params.mandate_id }), answer),
  revoke: ({ params, write }) =>
    Effect.map(revokeMandate({ ...write, mandateId: params.mandate_id }), (revoked) => writeAnswer(revoked)),
  periods: ({ organization, params, query }) =>
    Effect.map(
      listPeriods({
        organization: organization.id,
        mandateId: params.mandate_id,
        limit: query.limit ?? PERIODS_LIMIT_DEFAULT,
        ...fromOf(query.from)
      }),
      answer
    ),
  events: ({ organization, params, query }) =>
    Effect.map(
      listEvents({ organization: organization.id, mandateId: params.mandate_id, ...pageQuery(query) }),
      (page) => ({ body: textPage(page) })
    ),
  createApprovalSession: ({ params, write }) =>
    Effect.gen(function* () {
      const created = yield* createApprovalSession({ ...write, mandateId: params.mandate_id })
      const { approval_url: url } = created.resource
      // Invalid links from the end user's address must not lock this one out.
      if (url !== undefined) yield* (yield* FailedCredentials).remember(tokenOf(url))
      return writeAnswer(created)
    })
})

/** The token is the last path segment of an approval link. */
const tokenOf = (approvalUrl: string): string => approvalUrl.slice(approvalUrl.lastIndexOf("/") + 1)

const fromOf = (from: Timestamp | undefined) => {
  const instant = from === undefined ? undefined : parseTimestamp(from)
  return instant === undefined ? {} : { from: instant }
}
