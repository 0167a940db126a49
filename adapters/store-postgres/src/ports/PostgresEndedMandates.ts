import { type EndedMandate, type EndedMandates, MandateKept } from "@svc/domain/ports/EndedMandates"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { comparable, isStorable } from "../RecordCodec.ts"

/** Mandates that one statement looks at. */
const PAGE_MANDATES = 500

const FINAL_STATES = "('CONSUMED', 'REVOKED', 'REJECTED', 'EXPIRED')"

/** The next mandates, ended or not, so that a page costs the same wherever the ended ones are. */
const list = (
  subject: string
): string => `select s.mandate, s.state, s.revision, s.seq, s.hash, s.occurred_at,
  s.state in ${FINAL_STATES} and s.next_due is null and s.open_authorizations = '{}' and s.occurred_at < $3::bigint as ended
from (
  select m.mandate, m.state, m.revision, m.seq, m.hash, m.occurred_at, m.next_due, m.open_authorizations
    from {schema}.stream m where m.organization = $1::text${subject} and m.mandate > $2::text
    order by m.mandate limit ${PAGE_MANDATES}
) s order by s.mandate`

const REMOVE =
  "select * from {schema}.remove_mandate($1::text, $2::text, $3::bigint, $4::bigint, $5::text, $6::bigint)"

interface MandateRow {
  readonly mandate: string
  readonly state: EndedMandate["state"]
  readonly revision: bigint
  readonly seq: bigint
  readonly hash: string
  readonly occurred_at: bigint
  readonly ended: boolean
}

interface RemovedRow {
  readonly o_outcome: "removed" | MandateKept["reason"]
  readonly o_events: bigint
  readonly o_authorizations: bigint
  readonly o_sessions: bigint
}

const endedOf = ({ hash, mandate, occurred_at, revision, seq, state }: MandateRow): EndedMandate => ({
  mandate,
  state,
  revision: Number(revision),
  seq: Number(seq),
  hash,
  occurredAt: occurred_at
})

export const makeEndedMandates = ({ reads, schema, writes }: PostgresClients): EndedMandates["Service"] => {
  const all = statement<MandateRow>(reads, schema, list(""))
  const ofSubject = statement<MandateRow>(reads, schema, list(" and m.subject = $4::text"))
  const remove = statement<RemovedRow>(writes, schema, REMOVE)
  return {
    list: ({ after = "", endedBefore, organization, subjectReference: subject }) => {
      if (subject !== undefined && !isStorable(subject)) return Effect.succeed({ mandates: [] })
      const parameters = [organization, after, comparable(endedBefore)]
      const rows = subject === undefined ? all(parameters) : ofSubject([...parameters, subject])
      return guarded(
        Effect.map(rows, (found) => {
          const last = found.length === PAGE_MANDATES ? found.at(-1) : undefined
          return {
            mandates: found.filter(({ ended }) => ended).map(endedOf),
            ...(last === undefined ? {} : { next: last.mandate })
          }
        })
      )
    },
    remove: ({ ended, endedBefore, organization }) =>
      Effect.flatMap(
        guarded(
          remove([
            organization,
            ended.mandate,
            String(ended.revision),
            String(ended.seq),
            ended.hash,
            comparable(endedBefore)
          ])
        ),
        ([row]) => {
          const { o_authorizations, o_events, o_outcome, o_sessions } = row!
          return o_outcome === "removed"
            ? Effect.succeed({
                events: Number(o_events),
                authorizations: Number(o_authorizations),
                approvalSessions: Number(o_sessions)
              })
            : Effect.fail(new MandateKept({ reason: o_outcome }))
        }
      )
  }
}
