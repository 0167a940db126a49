import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { CLOCK } from "../src/ports/PostgresReads.ts"
import type { TextRow } from "./Tables.ts"
import type { WebhookPlace } from "./WebhookPorts.ts"

/*
 * A journal of what happens in the tables of webhooks, which triggers of the soak write in the same transactions. An
 * endpoint's lines are in the order in which its writes took effect, since each holds the endpoint's lock. Of an event there
 * are two lines, before its deliveries are made and at the end of the transaction that makes them.
 */
const INSTALL = `
create sequence {schema}.soak_seq;
create table {schema}.soak_line (
  seq bigint not null,
  kind text not null,
  organization text not null,
  endpoint text,
  delivery text,
  event text,
  state text,
  generation bigint,
  record text
);
create function {schema}.soak_event() returns trigger language plpgsql as $line$
begin
  insert into {schema}.soak_line (seq, kind, organization, event)
    values (nextval('{schema}.soak_seq'), tg_argv[0], new.organization, new.id);
  return null;
end
$line$;
create trigger soak_begun after insert on {schema}.event for each row execute function {schema}.soak_event('event_begun');
create constraint trigger soak_ended after insert on {schema}.event deferrable initially deferred
  for each row execute function {schema}.soak_event('event_ended');

create function {schema}.soak_endpoint() returns trigger language plpgsql as $line$
begin
  insert into {schema}.soak_line (seq, kind, organization, endpoint, state, generation, record)
    values (nextval('{schema}.soak_seq'), 'endpoint', new.organization, new.endpoint, new.status, new.generation, new.record);
  return null;
end
$line$;
create trigger soak_made after insert on {schema}.webhook_endpoint
  for each row execute function {schema}.soak_endpoint();
create trigger soak_changed after update on {schema}.webhook_endpoint
  for each row when (old.revision <> new.revision) execute function {schema}.soak_endpoint();

create function {schema}.soak_attempts() returns trigger language plpgsql as $line$
begin
  insert into {schema}.soak_line (seq, kind, organization, endpoint, delivery, event, state, generation, record)
    values (nextval('{schema}.soak_seq'), 'attempts', new.organization, new.endpoint, new.delivery, new.event, new.state,
      old.open_generation, new.attempts);
  return null;
end
$line$;
create trigger soak_attempted after update on {schema}.webhook_delivery
  for each row when (old.attempts is distinct from new.attempts) execute function {schema}.soak_attempts();
`

/** Least wait between two attempts of a delivery, in nanoseconds: `t` counts seconds, and no two are to have the same. */
const RETRY_AFTER = 1_100_000_000n

/** Attempts of a delivery that may be lost before it waits for the end of the kills. */
const LOST_ATTEMPTS = 4

/**
 * Time passes faster for what waits: retries that are more than a moment away, and attempts of workers that may be lost.
 * What somebody works on is left alone, so that nobody waits for this, and no deadlock comes of it. In a day of retries
 * nobody is killed nine times in mid-attempt; where kills are as close as here, `spares` keeps a delivery from being
 * exhausted by them alone.
 */
const hurry = (lostAfter: bigint, spares: boolean) => [
  `with chosen as (
    select d.organization, d.endpoint, d.delivery from {schema}.webhook_delivery d
      where d.state = 'pending' and d.open_token is null and d.next_attempt_at > ${CLOCK} + ${RETRY_AFTER}
        ${spares ? `and regexp_count(coalesce(d.attempts, ''), 'worker_lost') < ${LOST_ATTEMPTS}` : ""} for update skip locked
  ) update {schema}.webhook_delivery d set next_attempt_at = ${CLOCK} + ${RETRY_AFTER}
    from chosen c where (d.organization, d.endpoint, d.delivery) = (c.organization, c.endpoint, c.delivery)`,
  `with chosen as (
    select d.organization, d.endpoint, d.delivery from {schema}.webhook_delivery d
      where d.open_token is not null and d.open_expires_at > d.open_at + ${lostAfter} for update skip locked
  ) update {schema}.webhook_delivery d set open_expires_at = d.open_at + ${lostAfter}
    from chosen c where (d.organization, d.endpoint, d.delivery) = (c.organization, c.endpoint, c.delivery)`
]

const UNSETTLED = `select count(*) as waiting from {schema}.webhook_delivery d
  join {schema}.webhook_endpoint e on e.organization = d.organization and e.endpoint = d.endpoint
  where d.open_token is not null or (d.state = 'pending' and e.status <> 'deleted')`

const TABLES = {
  events: "select organization, id, type from {schema}.event",
  lines: "select * from {schema}.soak_line order by seq",
  endpoints: "select organization, endpoint, status, record from {schema}.webhook_endpoint",
  deliveries: `select organization, endpoint, delivery, event, event_type, state, open_token, attempts, body
    from {schema}.webhook_delivery`
} as const

/** Rows of the tables of webhooks, and of the journal, oldest line first. */
export type WebhookTables = { readonly [Name in keyof typeof TABLES]: ReadonlyArray<TextRow> }

/** A point of the journal: lines before it have lower numbers, and later ones higher; `clock` is the store's. */
export interface JournalPoint {
  readonly seq: number
  /** Nanoseconds since the epoch. */
  readonly clock: bigint
}

export interface WebhookJournal {
  readonly point: () => Promise<JournalPoint>
  /**
   * Makes waits short, as if time passed; an attempt whose worker says nothing is lost soon after. `spares`: but for
   * deliveries that have lost many attempts already.
   */
  readonly hurry: (options: { readonly spares: boolean }) => Promise<void>
  /** Deliveries that are under way, or have still to be. */
  readonly unsettled: () => Promise<number>
  readonly tables: () => Promise<WebhookTables>
}

const textOf = (row: object): TextRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])
  )

/** Watches the tables from now on. An attempt counts as lost so many nanoseconds after it began, once time is hurried. */
export const openWebhookJournal = async (
  place: WebhookPlace,
  lostAfter: bigint
): Promise<WebhookJournal & { readonly close: () => Promise<void> }> => {
  const { promise, resolve: open } = Promise.withResolvers<PgClient.PgClient>()
  const closing = Promise.withResolvers<void>()
  const closed = Effect.gen(function* () {
    open(yield* PgClient.make({ url: Redacted.make(place.url), maxConnections: 3 }))
    yield* Effect.promise(() => closing.promise)
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.runPromise)
  const sql = await promise
  const query = (text: string): Promise<ReadonlyArray<TextRow>> =>
    Effect.runPromise(
      Effect.map(sql.unsafe<object>(text.replaceAll("{schema}", `"${place.schema}"`)), (rows) =>
        rows.map(textOf)
      )
    )
  for (const statement of INSTALL.split(/;\n+(?=create )/u)) {
    await query(statement)
  }
  return {
    point: async () => {
      const [row] = await query(`select nextval('{schema}.soak_seq') as seq, ${CLOCK} as clock`)
      return { seq: Number(row?.seq), clock: BigInt(row?.clock ?? 0) }
    },
    hurry: async ({ spares }) => {
      for (const statement of hurry(lostAfter, spares)) await query(statement)
    },
    unsettled: async () => Number((await query(UNSETTLED))[0]?.waiting),
    tables: async () => ({
      events: await query(TABLES.events),
      lines: await query(TABLES.lines),
      endpoints: await query(TABLES.endpoints),
      deliveries: await query(TABLES.deliveries)
    }),
    close: () => {
      closing.resolve()
      return closed
    }
  }
}
