import { openDatabase } from "./Database.ts"
import { importPeer } from "./Peers.ts"
import { bodyOf, type Load, type Sender } from "./Sender.ts"
import { signedPost } from "./SignedPost.ts"

const SEND = "send"
const CONCURRENCY = 64
/** Its documentation's advice on many short jobs: fetch many at once, record many at once. */
const LOCAL_QUEUE = 500
const BATCH_DELAY_MILLISECONDS = 0

interface Payload {
  readonly target: string
  readonly body: string
}

interface GraphileWorker {
  readonly run: (options: unknown) => Promise<unknown>
  readonly runMigrations: (options: unknown) => Promise<void>
}

/** graphile-worker with one task, which signs and posts. */
export const graphileSender = ({ databaseUrl, deliveries, targets }: Load): Sender => {
  const query = openDatabase(databaseUrl)
  const post = signedPost()
  const preset = {
    worker: {
      connectionString: databaseUrl,
      concurrentJobs: CONCURRENCY,
      maxPoolSize: 16,
      localQueue: { size: LOCAL_QUEUE },
      completeJobBatchDelay: BATCH_DELAY_MILLISECONDS,
      failJobBatchDelay: BATCH_DELAY_MILLISECONDS,
      // Silent, as the others are.
      logger: undefined as unknown
    }
  }
  const load = async () => {
    const module = await importPeer<GraphileWorker & { readonly Logger: new (make: unknown) => unknown }>(
      "graphile-worker"
    )
    preset.worker.logger = new module.Logger(() => () => undefined)
    return module
  }
  return {
    fill: async () => {
      const { runMigrations } = await load()
      await runMigrations({ preset })
      const rows = Array.from({ length: deliveries }, (_, number) => ({
        identifier: SEND,
        payload: { target: targets[number % targets.length], body: bodyOf(number) }
      }))
      await query(
        `select from graphile_worker.add_jobs(array(
          select json_populate_record(null::graphile_worker.job_spec, r) from json_array_elements($1::json) r))`,
        [JSON.stringify(rows)]
      )
      await query("analyze graphile_worker._private_jobs")
    },
    start: async () => {
      const { run } = await load()
      await run({
        preset,
        noHandleSignals: true,
        taskList: { [SEND]: ({ body, target }: Payload) => post(target, body) }
      })
    },
    isBusy: async () => (await query("select from graphile_worker._private_jobs limit 1")).length > 0
  }
}
