import { spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@svc/store-postgres/test/TestPostgres"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { openDatabase } from "../Database.ts"
import { endOf } from "./Child.ts"
import { type HttpSystem, usageFaults } from "./HttpSystem.ts"
import { AMOUNT } from "./Load.ts"
import { jsonRequest, openConnection, type RawConnection } from "./RawConnection.ts"

/** The checkout that this file is of. */
export const OWN_ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
const svcOf = (root: string): string => join(root, "adapters/cli/src/bin/svc.ts")
/** The schema that the command uses. */
const SCHEMA = "svc"
const MASTER_KEY_BYTES = 32
const START_LIMIT_MS = 60_000
const START_PAUSE_MS = 50
/** How long its own organization's webhooks may take after a load. */
const SETTLE_LIMIT_MS = 60_000
const SETTLE_PAUSE_MS = 100

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

type Environment = Readonly<Record<string, string>>
type Query = ReturnType<typeof openDatabase>

const command = (
  { env, root }: Pick<OurDatabase, "env" | "root">,
  ...words: ReadonlyArray<string>
): string => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [svcOf(root), ...words], {
    env,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`svc ${words.join(" ")} exited with ${status}: ${stderr}`)
  return stdout
}

const MANDATES_PROGRAM = fileURLToPath(new URL("./MandatesProgram.ts", import.meta.url))

/** Evaluates the program in the checkout, which need not have it, so that what it imports is the checkout's. */
const makeMandates = (
  { databaseUrl, root }: OurDatabase,
  organization: string,
  count: number
): ReadonlyArray<string> => {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [
      ...["--input-type=module-typescript", "--eval", readFileSync(MANDATES_PROGRAM, "utf8"), "--"],
      ...[databaseUrl, SCHEMA, organization, String(count)]
    ],
    { cwd: join(root, "adapters/cli"), env: leastEnvironment(), encoding: "utf8" }
  )
  if (status !== 0) throw new Error(`no mandates were made: ${stderr}`)
  return JSON.parse(stdout)
}

/** Waits for the server's first answer. */
const connectionTo = async (port: number, isRunning: () => boolean): Promise<RawConnection> => {
  for (
    const end = Date.now() + START_LIMIT_MS;
    Date.now() < end && isRunning();
    await pause(START_PAUSE_MS)
  ) {
    const connection = await openConnection(port).catch(() => undefined)
    const answer = await connection?.send(jsonRequest("GET /readyz", { host: `localhost:${port}` }))
    if (connection !== undefined && answer?.status === 200) return connection
    connection?.close()
  }
  throw new Error("the service does not start")
}

const registerWebhook = async (
  connection: RawConnection,
  { apiKey, port, url }: { readonly apiKey: string; readonly port: number; readonly url: string }
): Promise<void> => {
  const headers = {
    host: `localhost:${port}`,
    authorization: `Bearer ${apiKey}`,
    "idempotency-key": "webhook"
  }
  const { body, status } = await connection.send(
    jsonRequest("POST /v1/webhook-endpoints", headers, JSON.stringify({ url }))
  )
  if (status !== 201) throw new Error(`the endpoint was not registered: ${status} ${body}`)
}

/** Mandates whose committed authorizations are not as many as the pairs. */
export const rowFaults = async (
  query: Query,
  organization: string,
  pairs: ReadonlyMap<string, number>
): Promise<ReadonlyArray<string>> => {
  const rows = (await query(
    `select mandate, state, count(*)::int as count from ${SCHEMA}.authorization_row
      where organization = $1::text group by mandate, state`,
    [organization]
  )) as ReadonlyArray<{ readonly mandate: string; readonly state: string; readonly count: number }>
  return rows
    .filter(({ count, mandate, state }) => state !== "COMMITTED" || count !== pairs.get(mandate))
    .map(({ count, mandate, state }) => `${mandate} has ${count} ${state} after ${pairs.get(mandate)} pairs`)
}

/** Of two events a pair, those that were not delivered. */
const deliveryFaults = async (
  query: Query,
  organization: string,
  pairs: ReadonlyMap<string, number>
): Promise<ReadonlyArray<string>> => {
  const [row] = (await query(
    `select count(*)::int as count from ${SCHEMA}.webhook_delivery
      where organization = $1::text and state = 'delivered'`,
    [organization]
  )) as ReadonlyArray<{ readonly count: number }>
  const expected = 2 * [...pairs.values()].reduce((sum, count) => sum + count, 0)
  return row?.count === expected ? [] : [`${row?.count} of ${expected} webhooks were delivered`]
}

/** The service's tables, at which it is started by {@link startOurs}. */
export interface OurDatabase {
  /** The checkout of the service. */
  readonly root: string
  readonly databaseUrl: string
  readonly query: Query
  readonly env: Environment
}

/** An organization with its key, and with active mandates. */
export interface OurTenant {
  readonly organization: string
  readonly apiKey: string
  readonly mandates: ReadonlyArray<string>
}

/** Brings an empty database's schema up to date, with the command of the checkout. */
export const prepareOurs = async (databaseUrl: string, root = OWN_ROOT): Promise<OurDatabase> => {
  const port = await freePort()
  const approvalPort = await freePort()
  const env = {
    ...leastEnvironment(),
    SVC_ENVIRONMENT: "test",
    SVC_STORE: databaseUrl,
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_APPROVAL_BASE_URL: `http://localhost:${approvalPort}`,
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(port),
    SVC_APPROVAL_PORT: String(approvalPort),
    SVC_MASTER_KEY: randomBytes(MASTER_KEY_BYTES).toString("base64url"),
    SVC_WEBHOOK_ALLOW_LOOPBACK: "true",
    SVC_RATE_LIMIT: "off",
    SVC_LOG_LEVEL: "info"
  }
  command({ env, root }, "migrate")
  return { root, databaseUrl, query: openDatabase(databaseUrl), env }
}

export const makeTenant = (database: OurDatabase, mandates: number): OurTenant => {
  const words = ["--name", "Bench", "--return-origin", "https://shop.example"]
  const organization: string = JSON.parse(
    command(database, "organization", "create", ...words)
  ).organization_id
  const key = JSON.parse(command(database, "api-key", "create", "--organization", organization))
  return { organization, apiKey: key.api_key, mandates: makeMandates(database, organization, mandates) }
}

/** A running service. */
export interface OurService {
  /** A tenant's view of it; with a receiver, the tenant has a webhook endpoint there. */
  readonly systemOf: (tenant: OurTenant, receiverUrl?: string) => Promise<HttpSystem>
  readonly stop: () => Promise<void>
}

/** Starts `svc serve`. */
export const startOurs = async ({ env, query, root }: OurDatabase, log: number): Promise<OurService> => {
  const child = spawn(process.execPath, [svcOf(root), "serve"], { env, stdio: ["ignore", log, log] })
  process.once("exit", () => child.kill())
  const port = Number(env.SVC_PORT)
  const connection = await connectionTo(port, () => child.exitCode === null)
  const settle = async () => {
    for (const end = Date.now() + SETTLE_LIMIT_MS; Date.now() < end; await pause(SETTLE_PAUSE_MS)) {
      const left = await query(
        `select from ${SCHEMA}.webhook_delivery where queue is not null or open_token is not null limit 1`
      )
      if (left.length === 0) return
    }
    throw new Error(`webhooks are left after ${SETTLE_LIMIT_MS} ms`)
  }
  return {
    systemOf: async ({ apiKey, organization }, receiverUrl) => {
      const isHooked = receiverUrl !== undefined
      if (isHooked) await registerWebhook(connection, { apiKey, port, url: receiverUrl })
      return {
        port,
        pid: child.pid!,
        apiKey,
        settle: isHooked ? settle : () => Promise.resolve(),
        recount: async (pairs) => [
          ...(await usageFaults({ port, apiKey }, pairs, AMOUNT)),
          ...(await rowFaults(query, organization, pairs)),
          ...(isHooked ? await deliveryFaults(query, organization, pairs) : [])
        ]
      }
    },
    stop: () => {
      connection.close()
      child.kill("SIGTERM")
      return endOf(child)
    }
  }
}

/** Mean sizes in bytes of the texts that the service wrote. */
export const sizesOf = async ({ query }: OurDatabase) => {
  const [row] = (await query(
    `select (select avg(octet_length(snapshot))::int from ${SCHEMA}.stream) as snapshot,
      (select avg(octet_length(text))::int from ${SCHEMA}.event) as event,
      (select avg(octet_length(record))::int from ${SCHEMA}.authorization_row) as record`
  )) as ReadonlyArray<{ readonly snapshot: number; readonly event: number; readonly record: number }>
  return row!
}
