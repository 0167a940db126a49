import { Stale } from "@svc/domain/ports/MandateStore"
import type { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { Effect } from "effect"
import { decidingClient, type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { readSubject, writeSubject } from "../RecordCodec.ts"
import { CLOCK } from "./PostgresReads.ts"

const LOAD = `select clock.now as clock, s.record, s.revision
from (select ${CLOCK} as now) clock
left join {schema}.subject s on s.organization = $1::text and s.subject = $2::text`

const REPLACE = `update {schema}.subject s set revision = {schema}.next_revision(s.revision), record = $4::text
where s.organization = $1::text and s.subject = $2::text and s.revision = $3::bigint
returning s.revision`

interface SubjectRow {
  readonly clock: bigint
  readonly record: string | null
  readonly revision: bigint | null
}

export const makeSubjects = (clients: PostgresClients): SubjectStore["Service"] => {
  const { reads, schema } = clients
  const load = statement<SubjectRow>(reads, schema, LOAD)
  const replace = statement(decidingClient(clients), schema, REPLACE)
  return {
    load: ({ organization, subjectReference }) =>
      guarded(
        Effect.map(load([organization, subjectReference]), ([row]) => ({
          now: row!.clock,
          subject: row!.record === null ? undefined : readSubject(row!.record, Number(row!.revision))
        }))
      ),
    replace: ({ expected, next, organization, subjectReference }) =>
      guarded(replace([organization, subjectReference, String(expected), writeSubject(next)])).pipe(
        Effect.flatMap((rows) => (rows.length === 0 ? Effect.fail(new Stale()) : Effect.void))
      )
  }
}
