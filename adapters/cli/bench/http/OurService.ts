import { spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { fileURLToPath } from "node:url"
import { formatInstant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { portsBesideStore } from "@svc/store-postgres/test/ProgramsOnPostgres"
import { freePort } from "@svc/store-postgres/test/TestPostgres"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { harnessOrganization, makeCaller, recurringBody } from "@svc/testkit/ProgramHarness"
import { DAY } from "@svc/testkit/StoreFixtures"
import { Effect, Layer, Redacted } from "effect"
import { openDatabase } from "../Database.ts"
import { endOf } from "./Child.ts"
import { type HttpSystem, usageFaults } from "./HttpSystem.ts"
import { AMOUNT } from "./Load.ts"
import { jsonRequest, openConnection, type RawConnection } from "./RawConnection.ts"

const SVC = fileURLToPath(new URL("../../src/bin/svc.ts", import.meta.url))
/** The schema that the command uses. */
const SCHEMA = "svc"
const MASTER_KEY_BYTES = 32
const START_LIMIT_MS = 60_000
const START_PAUSE_MS = 50
/** How long its own organization's webhooks may take after a load. */
const SETTLE_LIMIT_MS = 60_000
const SETTLE_PAUSE_MS = 100
const MANDATES_AT_ONCE = 32

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

type Environment = Readonly<Record<string, string>>
type Query = ReturnType<typeof openDatabase>

const command = (env: Environment, ...words: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [SVC, ...words], { env, encoding: "utf8" })
  if (status !== 0) throw new Error(`svc ${words.join(" ")} exited with ${status}: ${stderr}`)
  return stdout
}

/** Makes active mandates of an organization, by the programs. */
const makeMandates = (
  databaseUrl: string,
  organization: string,
  count: number
): Promise<ReadonlyArray<string>> => {
  const caller = makeCaller(harnessOrganization({ id: organization }))
  const endsAt = formatInstant(BigInt(Date.now()) * NANOS_PER_MILLISECOND + 30n * DAY)
  const body = recurringBody(
    { periods: [{ unit: "MONTH", max_amount: Number.MAX_SAFE_INTEGER }] },
    { window: { ends_at: endsAt } }
  )
  const one = Effect.gen(function* () {
    const { resource } = yield* caller.create(body)
    yield* caller.approve(resource.id)
    return resource.id
  })
  return Effect.forEach(Array.from({ length: count }), () => one, { concurrency: MANDATES_AT_ONCE }).pipe(
    Effect.provide(
      Layer.mergeAll(
        PostgresStore.layer({ url: Redacted.make(databaseUrl), schema: SCHEMA, migrations: "run" }),
        portsBesideStore
      )
    ),
    Effect.runPromise
  )
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

const rowFaults = async (
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

/** The service's tables, to which it is started by {@link startOurs}. */
export interface OurDatabase {
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

/** Brings an empty database's schema up to date, with the service's own command. */
export const prepareOurs = async (databaseUrl: string): Promise<OurDatabase> => {
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
  command(env, "migrate")
  return { databaseUrl, query: openDatabase(databaseUrl), env }
}

export const makeTenant = async ({ databaseUrl, env }: OurDatabase, mandates: number): Promise<OurTenant> => {
  const words = ["--name", "Bench", "--return-origin", "https://shop.example"]
  const organization: string = JSON.parse(command(env, "organization", "create", ...words)).organization_id
  const key = JSON.parse(command(env, "api-key", "create", "--organization", organization))
  return {
    organization,
    apiKey: key.api_key,
    mandates: await makeMandates(databaseUrl, organization, mandates)
  }
}

/** Starts `svc serve`. Gives it once for the tenant without a webhook endpoint, and once for the one with. */
export const startOurs = async (
  { env, query }: OurDatabase,
  plain: OurTenant,
  hooked: OurTenant,
  { log, receiverUrl }: { readonly log: number; readonly receiverUrl: string }
): Promise<{ readonly plain: HttpSystem; readonly hooked: HttpSystem }> => {
  const child = spawn(process.execPath, [SVC, "serve"], { env, stdio: ["ignore", log, log] })
  process.once("exit", () => child.kill())
  const port = Number(env.SVC_PORT)
  const connection = await connectionTo(port, () => child.exitCode === null)
  await registerWebhook(connection, { port, apiKey: hooked.apiKey, url: receiverUrl })
  connection.close()
  const stop = () => {
    child.kill("SIGTERM")
    return endOf(child)
  }
  const settle = async () => {
    for (const end = Date.now() + SETTLE_LIMIT_MS; Date.now() < end; await pause(SETTLE_PAUSE_MS)) {
      const left = await query(
        `select from ${SCHEMA}.webhook_delivery where queue is not null or open_token is not null limit 1`
      )
      if (left.length === 0) return
    }
    throw new Error(`webhooks are left after ${SETTLE_LIMIT_MS} ms`)
  }
  const faultsOf = async (tenant: OurTenant, pairs: ReadonlyMap<string, number>) => [
    ...(await usageFaults({ port, apiKey: tenant.apiKey }, pairs, AMOUNT)),
    ...(await rowFaults(query, tenant.organization, pairs))
  ]
  return {
    plain: {
      port,
      pid: child.pid!,
      apiKey: plain.apiKey,
      settle: () => Promise.resolve(),
      recount: (pairs) => faultsOf(plain, pairs),
      stop
    },
    hooked: {
      port,
      pid: child.pid!,
      apiKey: hooked.apiKey,
      settle,
      recount: async (pairs) => [
        ...(await faultsOf(hooked, pairs)),
        ...(await deliveryFaults(query, hooked.organization, pairs))
      ],
      stop
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
