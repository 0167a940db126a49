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
