/** Set-up of a run of tests: one Postgres server and one embedded database, whichever projects ask for them. */
import { preparePglite } from "./PreparedPglite.ts"
import { shareTestPostgres } from "./TestPostgres.ts"

export default async (): Promise<() => Promise<void>> => {
  const begun = await Promise.allSettled([shareTestPostgres(), preparePglite()])
  const end = async () => {
    await Promise.all(begun.map((one) => (one.status === "fulfilled" ? one.value() : undefined)))
  }
  const failed = begun.find((one) => one.status === "rejected")
  if (failed === undefined) return end
  await end()
  throw failed.reason
}
