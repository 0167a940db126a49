/** Set-up of a run of tests: one Postgres server and one embedded database, whichever projects ask for them. */
import { preparePglite } from "./PreparedPglite.ts"
import { shareTestPostgres } from "./TestPostgres.ts"

export default async (): Promise<() => Promise<void>> => {
  const ends = await Promise.all([shareTestPostgres(), preparePglite()])
  return async () => {
    await Promise.all(ends.map((end) => end()))
  }
}
