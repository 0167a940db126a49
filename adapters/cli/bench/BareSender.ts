import { openDatabase } from "./Database.ts"
import { bodyOf, type Load, type Sender } from "./Sender.ts"
import { signedPost } from "./SignedPost.ts"

/** Attempts under way at most. */
const AT_ONCE = 64
/** Fewest that are claimed at a time, while there are so many. */
const CLAIM = 32

interface Job {
  readonly id: string
  readonly target: string
  readonly body: string
}

/** The least that can deliver a queue once: claim, send, record; no schedule, no counters, no fairness, no leases. */
export const bareSender = ({ databaseUrl, deliveries, targets }: Load): Sender => {
  const query = openDatabase(databaseUrl)
  const post = signedPost()
  const ended: Array<string> = []
  let underWay = 0
  let isClaiming = false
  let isRecording = false
  let isEmpty = false

  const claim = async () => {
    if (isClaiming || isEmpty || AT_ONCE - underWay < CLAIM) return
    isClaiming = true
    const jobs = (await query(
      `update bare set state = 1 where id in (
        select id from bare where state = 0 order by id limit $1::int for update skip locked
      ) returning id::text, target, body`,
      [AT_ONCE - underWay]
    )) as ReadonlyArray<Job>
    isClaiming = false
    isEmpty = jobs.length === 0
    for (const job of jobs) {
      underWay += 1
      void post(job.target, job.body).then(() => {
        underWay -= 1
        ended.push(job.id)
        void record()
        void claim()
      })
    }
  }
  const record = async () => {
    if (isRecording) return
    isRecording = true
    while (ended.length > 0) {
      await query("update bare set state = 2 where id = any($1::text::bigint[])", [
        `{${ended.splice(0).join()}}`
      ])
    }
    isRecording = false
  }
  return {
    fill: async () => {
      await query(
        "create table bare (id bigserial primary key, target text not null, body text not null, state int not null)"
      )
      await query("create index on bare (id) where state = 0")
      const rows = Array.from({ length: deliveries }, (_, number) => ({
        target: targets[number % targets.length],
        body: bodyOf(number)
      }))
      await query(
        `insert into bare (target, body, state)
          select r.target, r.body, 0 from json_to_recordset($1::json) r (target text, body text)`,
        [JSON.stringify(rows)]
      )
      await query("analyze bare")
    },
    start: claim,
    isBusy: async () => (await query("select from bare where state <> 2 limit 1")).length > 0
  }
}
