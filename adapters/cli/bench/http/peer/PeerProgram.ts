/** A service with Fastify and `pg`, as a good team would write it by hand for this one purpose, in a process of its own. */
import { createHash, timingSafeEqual } from "node:crypto"
import { importPeer } from "../../Peers.ts"
import type { Command, CommandHandler } from "./Command.ts"
import { fingerprintOf, type Proposal, type Report, refusal } from "./Decisions.ts"
import { grouped } from "./Grouped.ts"
import { oneByOne } from "./OneByOne.ts"
import { openPool, type Pool } from "./Pg.ts"

export interface PeerOptions {
  readonly databaseUrl: string
  readonly organization: string
  readonly apiKey: string
  readonly isGrouped: boolean
}

interface Request {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly params: { readonly id: string }
  readonly body: unknown
  readonly method: string
  readonly url: string
}

interface Reply {
  readonly code: (status: number) => Reply
  readonly type: (type: string) => Reply
  readonly send: (body: string) => Reply
}

type Handler = (request: Request, reply: Reply) => Promise<Reply>

interface Fastify {
  readonly addHook: (
    name: "onRequest",
    hook: (request: Request, reply: Reply) => Promise<Reply | undefined>
  ) => void
  readonly post: (path: string, options: object, handler: Handler) => void
  readonly put: (path: string, options: object, handler: Handler) => void
  readonly get: (path: string, handler: Handler) => void
  readonly listen: (options: object) => Promise<string>
}

const text = { type: "string", minLength: 1, maxLength: 255 }
const bytes32 = { type: "string", pattern: "^[A-Za-z0-9_-]{43}$" }
const strict = (properties: object) => ({
  type: "object",
  additionalProperties: false,
  required: Object.keys(properties),
  properties
})

const PROPOSAL = strict({
  external_reference: text,
  proposed_action: strict({
    action: text,
    payment: strict({
      amount: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      currency: { type: "string", pattern: "^[A-Z]{3}$" }
    })
  }),
  execution_window_seconds: { type: "integer", minimum: 30, maximum: 86_400 },
  commitment: bytes32
})
const REPORT = strict({
  external_action_reference: text,
  provider_transaction_reference: text,
  reported_accepted_at: { type: "string", format: "date-time" },
  commitment_opening: bytes32
})

const sha256 = (value: string): Buffer => createHash("sha256").update(value).digest()

const readMandate =
  (pool: Pool, organization: string): Handler =>
  async ({ params }, reply) => {
    const { rows } = await pool.query({
      name: "usage",
      text: `select coalesce(sum(committed), 0)::float8 as committed_amount,
          coalesce(sum(reserved), 0)::float8 as reserved_amount,
          coalesce(sum(executions), 0)::float8 as committed_executions
        from mandate m left join budget b on b.organization = m.organization and b.mandate = m.id
        where m.organization = $1 and m.id = $2 group by m.id`,
      values: [organization, params.id]
    })
    const [usage] = rows
    const { body, status } =
      usage === undefined
        ? refusal(404, "not_found")
        : { status: 200, body: JSON.stringify({ id: params.id, usage }) }
    return reply.code(status).type("application/json").send(body)
  }

const serve = async ({ apiKey, databaseUrl, isGrouped, organization }: PeerOptions): Promise<string> => {
  const { default: fastify } = await importPeer<{ readonly default: (options: object) => Fastify }>("fastify")
  const pool = await openPool(databaseUrl)
  pool.on("error", (error) => process.stderr.write(`${error.message}\n`))
  const single = oneByOne(pool)
  const handle: CommandHandler = isGrouped ? grouped(pool, single) : single
  const app = fastify({ logger: true })
  const keyHash = sha256(apiKey)
  app.addHook("onRequest", async ({ headers }, reply) => {
    const bearer = headers.authorization?.replace(/^Bearer /u, "") ?? ""
    if (timingSafeEqual(sha256(bearer), keyHash)) return undefined
    return reply.code(401).type("application/json").send(refusal(401, "unauthorized").body)
  })
  const write =
    (commandOf: (request: Request) => Pick<Command, "kind" | "body"> & object): Handler =>
    async (request, reply) => {
      const key = request.headers["idempotency-key"]
      const fingerprint = fingerprintOf(`${request.method} ${request.url}`, request.body)
      const { body, status } =
        key === undefined
          ? refusal(400, "idempotency_key_missing")
          : await handle({ organization, key, fingerprint, ...commandOf(request) } as Command)
      return reply.code(status).type("application/json").send(body)
    }
  app.post(
    "/v1/mandates/:id/authorizations",
    { schema: { body: PROPOSAL } },
    write(({ body, params }) => ({ kind: "propose", mandate: params.id, body: body as Proposal }))
  )
  app.put(
    "/v1/authorizations/:id/commit",
    { schema: { body: REPORT } },
    write(({ body, params }) => ({ kind: "commit", authorization: params.id, body: body as Report }))
  )
  app.get("/v1/mandates/:id", readMandate(pool, organization))
  return app.listen({ port: 0, host: "127.0.0.1" })
}

process.once("disconnect", () => process.exit())
const address = await serve(JSON.parse(process.argv[2] ?? "") as PeerOptions)
process.send?.(Number(new URL(address).port))
