import { MAX_HOSTS } from "../src/connection/PostgresUrl.ts"
import type { FailoverSettings } from "./FailoverSoak.ts"
import type { WebhookSoakSettings } from "./WebhookSoak.ts"

/** How long and how hard one soak is. */
export interface SoakSettings {
  readonly seed: number
  readonly clients: number
  readonly processes: number
  /** Least number of operations; a kill that is still to come adds some. */
  readonly operations: number
  readonly kills: number
}

/** Seeds are below this. */
export const MAX_SEED = 2 ** 31 - 1

export type SoakStore = "postgres" | "pglite"

export const SOAK_HELP = `npm run soak: kills processes at random instants under load, then audits the tables.

  --part=servers|webhooks|both   default both: processes that serve, and processes that deliver webhooks (on Postgres)
  --part=failover                instead: primaries are killed and their synchronous standbys promoted
  --store=postgres|pglite|both   default both; on PGlite there is one process
  --operations=10000             on Postgres
  --kills=200                    on Postgres
  --pglite-operations=2000
  --pglite-kills=200
  --processes=3                  on Postgres
  --clients=64
  --webhook-kills=100
  --webhook-workers=3
  --failovers=8
  --failover-operations=400      before each of them
  --seed=                        repeats the choices of an earlier run; how they interleave is the machine's
`

const DEFAULTS = {
  operations: 10_000,
  kills: 200,
  "pglite-operations": 2000,
  "pglite-kills": 200,
  processes: 3,
  clients: 64,
  "webhook-kills": 100,
  "webhook-workers": 3,
  failovers: 8,
  "failover-operations": 400,
  seed: -1
}

/** Requests between two kills of workers, on average. */
const REQUESTS_PER_KILL = 40
/** Pause between the mandates of an organization while workers are killed, in milliseconds. */
const WEBHOOK_PAUSE_MILLISECONDS = 1000

export interface SoakPlan {
  readonly seed: number
  readonly stores: ReadonlyArray<{ readonly store: SoakStore; readonly settings: SoakSettings }>
  readonly webhooks?: WebhookSoakSettings
  readonly failover?: FailoverSettings
}

/** Each failover adds a host to `SVC_STORE`, which lists a limited number. */
const MAX_FAILOVERS = MAX_HOSTS - 1

/** Reads the command line; a text says what is wrong with it. */
export const soakPlan = (given: ReadonlyArray<string>, newSeed: () => number): SoakPlan | string => {
  const numbers: Record<string, number> = { ...DEFAULTS }
  let chosen = "both"
  let part = "both"
  for (const argument of given) {
    const [, name = "", value = ""] = /^--([a-z-]+)=(.+)$/u.exec(argument) ?? []
    if (name === "store" && ["postgres", "pglite", "both"].includes(value)) chosen = value
    else if (name === "part" && ["servers", "webhooks", "both", "failover"].includes(value)) part = value
    else if (Object.hasOwn(DEFAULTS, name) && /^\d{1,10}$/u.test(value)) numbers[name] = Number(value)
    else return `${argument} is not understood`
  }
  const read = (name: keyof typeof DEFAULTS): number => numbers[name] ?? DEFAULTS[name]
  const seed = read("seed") === DEFAULTS.seed ? newSeed() : read("seed")
  const common = { seed, clients: read("clients") }
  const postgres = {
    ...common,
    processes: read("processes"),
    operations: read("operations"),
    kills: read("kills")
  }
  const pglite = {
    ...common,
    processes: 1,
    operations: read("pglite-operations"),
    kills: read("pglite-kills")
  }
  const webhooks = {
    seed,
    workers: read("webhook-workers"),
    kills: read("webhook-kills"),
    requestsPerKill: REQUESTS_PER_KILL,
    pause: WEBHOOK_PAUSE_MILLISECONDS,
    plantsFaults: true
  }
  const failover = {
    ...common,
    processes: read("processes"),
    failovers: Math.min(MAX_FAILOVERS, read("failovers")),
    operations: read("failover-operations")
  }
  if (part === "failover") return { seed, stores: [], failover }
  return {
    seed,
    ...(part === "servers" ? {} : { webhooks }),
    stores: [
      { store: "postgres" as const, settings: postgres },
      { store: "pglite" as const, settings: pglite }
    ].filter(({ store }) => part !== "webhooks" && (chosen === "both" || chosen === store))
  }
}
