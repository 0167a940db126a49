/**
 * A shop with a Postgres database of its own, whose customers let an agent buy for them: within a mandate that they have
 * approved with a passkey, and nothing beyond it.
 */
import { randomBytes, randomUUID, scryptSync, timingSafeEqual } from "node:crypto"
import fastify from "fastify"
import { Pool } from "pg"
import { type Authorization, createCommitment, createService, SvcError } from "svc"
import { svcFastify } from "svc/fastify"
import { postgres } from "svc/postgres"

const setting = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

const port = Number(setting("PORT"))
const origin = `http://localhost:${port}`
const pool = new Pool({ connectionString: setting("DATABASE_URL") })

/** Identifies the shop in everything that it does. Made once with `newOrganizationId()`. */
const SHOP = "org_01k8x3v5e7qfwb2m4n6p8r9sta"

const service = createService({
  environment: "test",
  baseUrl: `${origin}/mandates`,
  approvalUrl: `${origin}/approvals`,
  store: postgres({ pool }),
  masterKey: setting("SVC_MASTER_KEY"),
  organizations: [{ id: SHOP, name: "Shop", returnOrigins: [origin] }],
  authenticate: async ({ headers }) => staffOf(headers.get("cookie")),
  identify: async (session) => endUserOf(session)
})
const mandates = service.forOrganization(SHOP).mandates
const authorizations = service.forOrganization(SHOP).authorizations

const app = fastify({ requestTimeout: 30_000 })
app.register(svcFastify(service))

// The shop's own tables.

const SCHEMA = `
  create table if not exists customers (id text primary key, salt bytea not null, password bytea not null, is_staff boolean not null);
  create table if not exists sessions (token text primary key, customer text not null references customers);
  create table if not exists agents (token text primary key, customer text not null references customers, mandate text not null);
  create table if not exists products (id text primary key, price integer not null, stock integer not null check (stock >= 0));
  create table if not exists orders (
    customer text references customers, id text, product text not null references products, amount integer not null,
    authorization_id text not null unique, opening text not null, state text not null default 'reserved',
    primary key (customer, id)
  );
`

const CHECK_VIOLATION = "23514"

interface Customer {
  readonly id: string
  readonly is_staff: boolean
}

interface Agent {
  readonly customer: string
  readonly mandate: string
}

interface Order {
  readonly customer: string
  readonly id: string
  readonly product: string
  readonly amount: number
  readonly authorization_id: string
  readonly opening: string
  readonly state: "reserved" | "paid" | "unresolved"
}

const hashOf = (password: string, salt: Buffer) => scryptSync(password, salt, 32)

const addCustomer = async (id: string, password: string, isStaff: boolean) => {
  const salt = randomBytes(16)
  await pool.query("insert into customers values ($1, $2, $3, $4) on conflict do nothing", [
    id,
    salt,
    hashOf(password, salt),
    isStaff
  ])
}

const addProduct = async (id: string, price: number, stock: number) => {
  await pool.query("insert into products values ($1, $2, $3) on conflict do nothing", [id, price, stock])
}

// The shop's own login.

const login = async (id: string, password: string): Promise<string | undefined> => {
  const { rows } = await pool.query("select salt, password from customers where id = $1", [id])
  const [customer] = rows
  if (!customer || !timingSafeEqual(hashOf(password, customer.salt), customer.password)) return undefined
  const token = randomBytes(32).toString("base64url")
  await pool.query("insert into sessions values ($1, $2)", [token, id])
  return token
}

const customerOf = async (session: string | undefined): Promise<Customer | undefined> => {
  const { rows } = await pool.query<Customer>(
    "select id, is_staff from sessions join customers on id = customer where token = $1",
    [session]
  )
  return rows[0]
}

const sessionIn = (cookie: string | null | undefined): string | undefined =>
  /(?:^|; )session=([^;]+)/.exec(cookie ?? "")?.[1]

const agentOf = async (authorization: string | undefined): Promise<Agent | undefined> => {
  const token = /^Bearer (.+)$/.exec(authorization ?? "")?.[1]
  const { rows } = await pool.query<Agent>("select customer, mandate from agents where token = $1", [token])
  return rows[0]
}

// What the service asks the shop.

/** The API under /mandates is for the shop's staff, to look things up. */
const staffOf = async (cookie: string | null) => {
  const customer = await customerOf(sessionIn(cookie))
  return customer?.is_staff ? { organization: SHOP, scopes: ["read"] as const } : undefined
}

/** Who approves a mandate: whoever is logged in. A session may open any number of approvals, each with a `jti` of its own. */
const endUserOf = async (session: string) => {
  const customer = await customerOf(session)
  return customer && { subject: customer.id, jti: randomUUID() }
}

// What the shop asks the service.

const DAY_MS = 86_400_000

/** An agent of the customer, and its mandate: up to ten purchases a month for a year, each up to an amount in cents. */
const createAgent = async (customer: Customer, session: string, maxAmount: number) => {
  const mandate = await mandates.create({
    kind: "RECURRING",
    subject_reference: customer.id,
    description: "Purchases by your agent",
    policy: {
      currency: "EUR",
      max_amount: maxAmount,
      allowed_actions: ["order.place"],
      periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_executions: 10 }]
    },
    window: { ends_at: new Date(Date.now() + 365 * DAY_MS).toISOString() }
  })
  const { approval_url } = await mandates.openApproval(mandate.id, {
    identity_assertion: session,
    return_url: `${origin}/`,
    return_state: randomUUID()
  })
  const token = randomBytes(32).toString("base64url")
  await pool.query("insert into agents values ($1, $2, $3)", [token, customer.id, mandate.id])
  return { token, mandate: mandate.id, approval_url }
}

/** Writes the order and reserves its amount, in one transaction of the shop: both are there afterwards, or neither. */
const placeOrder = async (agent: Agent, { id, product }: Pick<Order, "id" | "product">) => {
  const { commitment, opening } = await createCommitment()
  const client = await pool.connect()
  try {
    await client.query("begin")
    const authorization = await service.transaction(client, async (within) => {
      const { rows } = await client.query("select price from products where id = $1", [product])
      const [{ price }] = rows
      const proposed = await within.forOrganization(SHOP).authorizations.propose(
        agent.mandate,
        {
          external_reference: id,
          proposed_action: { action: "order.place", payment: { amount: price, currency: "EUR" } },
          execution_window_seconds: 900,
          commitment
        },
        { idempotencyKey: `propose-${agent.customer}-${id}` }
      )
      if (!proposed.can_execute) return proposed
      await client.query(
        "insert into orders (customer, id, product, amount, authorization_id, opening) values ($1, $2, $3, $4, $5, $6)",
        [agent.customer, id, product, price, proposed.id, opening]
      )
      // Fails when there is none left, and takes the order and the reservation with it.
      await client.query("update products set stock = stock - 1 where id = $1", [product])
      return proposed
    })
    await client.query("commit")
    return authorization
  } catch (error) {
    await client.query("rollback")
    throw error
  } finally {
    client.release()
  }
}

/** Stands for a payment provider. One that is real keeps its payments, and knows them by the reference in the same way. */
const payments = new Map<string, { readonly transaction: string; readonly acceptedAt: string }>()
const pay = async (reference: string, _payment: Authorization["proposed_action"]["payment"]) => {
  const payment = payments.get(reference) ?? {
    transaction: `txn_${randomUUID()}`,
    acceptedAt: new Date().toISOString()
  }
  payments.set(reference, payment)
  return payment
}

const setState = async ({ customer, id }: Order, state: Order["state"]) => {
  await pool.query("update orders set state = $3 where customer = $1 and id = $2", [customer, id, state])
}

/** Pays for an order and reports it. Repeated after a crash it does nothing twice, since the provider knows the reference. */
const settle = async (order: Order): Promise<void> => {
  const authorization = await authorizations.get(order.authorization_id)
  if (authorization.can_execute) {
    const { acceptedAt, transaction } = await pay(authorization.id, authorization.proposed_action.payment)
    await authorizations.commit(authorization.id, {
      external_action_reference: authorization.id,
      provider_transaction_reference: transaction,
      reported_accepted_at: acceptedAt,
      commitment_opening: order.opening
    })
  }
  // One that can no longer be executed may have been paid before a crash: somebody has to ask the provider.
  const isPaid = authorization.can_execute || authorization.state === "COMMITTED"
  await setState(order, isPaid ? "paid" : "unresolved")
}

const findOrder = async (customer: string, id: string): Promise<Order | undefined> => {
  const { rows } = await pool.query<Order>("select * from orders where customer = $1 and id = $2", [
    customer,
    id
  ])
  return rows[0]
}

// The shop's own routes.

const objectOf = (properties: Record<string, object>) => ({
  schema: { body: { type: "object", properties, required: Object.keys(properties) } }
})
const TEXT = { type: "string", maxLength: 255 }

app.get("/", async () => "The shop. Customers log in, and let an agent buy for them.\n")

app.post<{ Body: { id: string; password: string } }>(
  "/login",
  objectOf({ id: TEXT, password: TEXT }),
  async ({ body }, reply) => {
    const token = await login(body.id, body.password)
    if (token === undefined) return reply.code(401).send({ error: "unknown customer or wrong password" })
    return reply.header("set-cookie", `session=${token}; HttpOnly; SameSite=Strict; Path=/`).code(204).send()
  }
)

app.post<{ Body: { max_amount: number } }>(
  "/agents",
  objectOf({ max_amount: { type: "integer", minimum: 1 } }),
  async ({ body, headers }, reply) => {
    const session = sessionIn(headers.cookie)
    const customer = await customerOf(session)
    if (session === undefined || customer === undefined)
      return reply.code(401).send({ error: "nobody is logged in" })
    return reply.code(201).send(await createAgent(customer, session, body.max_amount))
  }
)

app.post<{ Body: { id: string; product: string } }>(
  "/purchases",
  objectOf({ id: { type: "string", pattern: "^[\\w-]{1,64}$" }, product: { enum: ["novel", "atlas"] } }),
  async ({ body, headers }, reply) => {
    const agent = await agentOf(headers.authorization)
    if (agent === undefined) return reply.code(401).send({ error: "no agent has this token" })
    if ((await findOrder(agent.customer, body.id)) === undefined) {
      const { decision, reasons } = await placeOrder(agent, body)
      if (decision !== "ALLOW") return reply.code(403).send({ decision, reasons })
    }
    const order = await findOrder(agent.customer, body.id)
    if (order?.state === "reserved") await settle(order)
    return (await findOrder(agent.customer, body.id))?.state
  }
)

app.get("/orders", async ({ headers }, reply) => {
  const customer = await customerOf(sessionIn(headers.cookie))
  if (customer === undefined) return reply.code(401).send({ error: "nobody is logged in" })
  const { rows } = await pool.query("select id, product, amount, state from orders where customer = $1", [
    customer.id
  ])
  return rows
})

app.setErrorHandler<Error & { code?: string; statusCode?: number }>((error, _request, reply) => {
  if (error.code === CHECK_VIOLATION) return reply.code(409).send({ error: "there is none left" })
  const status = error instanceof SvcError ? (error.status ?? 500) : (error.statusCode ?? 500)
  if (status >= 500) console.error(error)
  return reply.code(status).send({ error: status >= 500 ? "something went wrong" : error.message })
})

// Its start and its end.

await pool.query(SCHEMA)
await addCustomer("alice", "alice-password", false)
await addCustomer("sam", "sam-password", true)
await addProduct("novel", 1800, 2)
await addProduct("atlas", 9900, 1)
await service.ready()
const { rows: begun } = await pool.query<Order>("select * from orders where state = 'reserved'")
for (const order of begun) await settle(order)
await app.listen({ port, host: "localhost" })
console.log(`the shop is at ${origin}`)

process.once("SIGTERM", async () => {
  await app.close()
  await service.close()
  await pool.end()
})
