import { baseline } from "../migrations/Baseline.ts"

/** The text of a function as a step made it. */
const functionIn = (statements: string, name: string): string => {
  const begin = statements.indexOf(`create or replace function {schema}.${name}(`)
  const [, quote = ""] = /\bas (\$\w+\$)/u.exec(statements.slice(begin)) ?? []
  const body = statements.indexOf(quote, begin) + quote.length
  return `${statements.slice(begin, statements.indexOf(`${quote};`, body) + quote.length)};\n`
}

/**
 * Functions that the previous release calls and this one calls with other parameters, for servers of that release that still
 * run. They go with a later release.
 */
export const previousCalls = ["load_stream", "lease_webhook_attempts"]
  .map((name) => functionIn(baseline, name))
  .join("")

/** As the previous release calls it, which takes the next revision for granted and is stale once where that is another. */
export const previousEnds = `
create or replace function {schema}.record_webhook_ends(
  p_organizations text[], p_endpoints text[], p_expected text[], p_statuses text[], p_held_until text[],
  p_held_left text[], p_records text[],
  p_places text[], p_deliveries text[], p_tokens text[], p_states text[], p_next_attempts text[], p_attempts text[]
) returns setof bigint language plpgsql as $ends$
begin
  return query select r.o_place from {schema}.record_webhook_attempts(p_organizations, p_endpoints, p_expected, p_statuses,
    p_held_until, p_held_left, p_records, p_places, p_deliveries, p_tokens, p_states, p_next_attempts, p_attempts) r;
end
$ends$;
`
