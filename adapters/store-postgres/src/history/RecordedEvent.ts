/**
 * Whether the store has the event of `h`, with its organization, mandate, seq and id in text, or had it until an operator
 * archived and removed its mandate: then nothing was lost.
 */
export const isRecorded = `(exists (select from {schema}.event e where e.organization = h.organization
    and e.mandate = h.mandate and e.seq = h.seq::bigint and e.id = h.event)
  or exists (select from {schema}.removed_mandate r where r.organization = h.organization
    and r.mandate = h.mandate and r.event_ids[h.seq::bigint] = h.event))`
