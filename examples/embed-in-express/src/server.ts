/** A shop on Express: customers allow purchases with a passkey, and purchases are made within that. */
import { randomUUID } from "node:crypto"
import type { NextFunction, Request, Response } from "express"
import { SvcError } from "svc"
import { makeApp } from "./mounted.ts"
import { purchase } from "./purchase.ts"
import { makeService, SHOP, sessions } from "./service.ts"

const DAY_MS = 86_400_000

const port = Number(process.env.PORT ?? 3000)
const origin = `http://localhost:${port}`
const service = makeService(origin)
const shop = service.forOrganization(SHOP)
const app = makeApp(service)

app.get("/", (_request, response) => void response.send("The shop.\n"))

/** Stands for the shop's login. */
app.post("/login", (request, response) => {
  const session = randomUUID()
  sessions.set(session, String(request.body.customer))
  response.status(201).json({ session })
})

/** The customer allows purchases up to an amount in cents: answers where to approve that. */
app.post("/allowances", async (request, response) => {
  const { max_amount, session } = request.body
  const customer = sessions.get(session)
  if (customer === undefined) return void response.status(401).json({ error: "nobody is logged in" })
  const mandate = await shop.mandates.create({
    kind: "SINGLE",
    subject_reference: customer,
    policy: { currency: "EUR", max_amount, allowed_actions: ["order.place"] },
    window: { ends_at: new Date(Date.now() + 30 * DAY_MS).toISOString() }
  })
  const { approval_url } = await shop.mandates.openApproval(mandate.id, {
    identity_assertion: session,
    return_url: `${origin}/`,
    return_state: randomUUID()
  })
  response.status(201).json({ mandate: mandate.id, approval_url })
})

/** Stands for a payment provider: one that is real knows a payment by its reference, and makes it once. */
const pay = async () => ({ transaction: `txn_${randomUUID()}`, acceptedAt: new Date().toISOString() })

app.post("/purchases", async (request, response) => {
  const { decision, reasons, state } = await purchase(shop, request.body, pay)
  response.status(decision === "ALLOW" ? 201 : 403).json({ decision, state, reasons })
})

app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (!(error instanceof SvcError)) return next(error)
  response.status(error.status ?? 500).json({ code: error.code, error: error.message })
})

const server = app.listen(port, "localhost", () => console.log(`the shop is at ${origin}`))
server.requestTimeout = 30_000

process.once("SIGTERM", () => server.close(() => service.close()))
