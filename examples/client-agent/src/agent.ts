/**
 * An agent that pays for orders: `node src/agent.ts [ORDER CENTS]`. It first finishes what it was killed in the middle of,
 * then pays for the order.
 */
import { createClient } from "@svc/client"
import { finishOrder } from "./FinishOrder.ts"
import { openOrders } from "./Orders.ts"
import { makePaymentProvider } from "./PaymentProvider.ts"

const setting = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

const orders = openOrders(setting("ORDERS_FOLDER"))
const agent = {
  svc: createClient({ baseUrl: setting("SVC_BASE_URL"), apiKey: setting("SVC_API_KEY") }),
  provider: makePaymentProvider(setting("PROVIDER_URL")),
  orders
}

const [id, cents] = process.argv.slice(2)
if (id !== undefined && orders.find(id) === undefined)
  orders.save({ id, mandate: setting("MANDATE"), amount: Number(cents) })

for (const order of orders.unfinished()) {
  try {
    const outcome = await finishOrder(agent, order)
    console.log(`${order.id}: ${outcome.status}, ${"payment" in outcome ? outcome.payment : outcome.reason}`)
  } catch (error) {
    console.error(`${order.id}: open, to be finished by the next start: ${error}`)
    process.exitCode = 1
  }
}
