import { openDatabase } from "./Database.ts"
import { importPeer } from "./Peers.ts"
import { bodyOf, type Load, type Sender } from "./Sender.ts"
import { signedPost } from "./SignedPost.ts"

const SEND = "send"
/** Jobs that a worker fetches, sends at once and completes together. */
const BATCH = 64
const WORKERS = 4
const INSERT_BATCH = 1000
/** The least that it takes. */
const POLLING_SECONDS = 0.5

interface Payload {
  readonly target: string
  readonly body: string
}

interface PgBoss {
  readonly start: () => Promise<unknown>
  readonly createQueue: (name: string) => Promise<void>
  readonly insert: (name: string, jobs: ReadonlyArray<{ readonly data: Payload }>) => Promise<unknown>
  readonly work: (
    name: string,
    options: object,
    handler: (jobs: ReadonlyArray<{ readonly data: Payload }>) => Promise<unknown>
  ) => Promise<string>
  readonly on: (event: "error", listener: (error: unknown) => void) => void
}

/** pg-boss with one queue, whose workers sign and post. */
export const bossSender = ({ databaseUrl, deliveries, targets }: Load): Sender => {
  const query = openDatabase(databaseUrl)
  const post = signedPost()
  let boss: PgBoss
  return {
    fill: async () => {
      const { PgBoss: Boss } = await importPeer<{ readonly PgBoss: new (options: object) => PgBoss }>(
        "pg-boss"
      )
      boss = new Boss({ connectionString: databaseUrl, max: 16 })
      boss.on("error", (error) => process.stderr.write(`pg-boss: ${String(error)}\n`))
      await boss.start()
      await boss.createQueue(SEND)
      const jobs = Array.from({ length: deliveries }, (_, number) => ({
        data: { target: targets[number % targets.length]!, body: bodyOf(number) }
      }))
      while (jobs.length > 0) await boss.insert(SEND, jobs.splice(0, INSERT_BATCH))
      await query("analyze")
    },
    start: async () => {
      await boss.work(
        SEND,
        { batchSize: BATCH, localConcurrency: WORKERS, pollingIntervalSeconds: POLLING_SECONDS },
        (jobs) => Promise.all(jobs.map(({ data }) => post(data.target, data.body)))
      )
    },
    isBusy: async () =>
      (await query("select from pgboss.job where name = $1::text and state < 'completed' limit 1", [SEND]))
        .length > 0
  }
}
