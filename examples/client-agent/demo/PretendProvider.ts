import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { Payment, PaymentOrder } from "../src/PaymentProvider.ts"
import { listening, type Running } from "./Running.ts"

/** What the provider declines, in cents. */
const DECLINED_FROM = 50_000

export interface PretendProvider extends Running {
  /** The money that has moved, by the descriptions of the payments. */
  readonly transfers: ReadonlyArray<{ readonly description: string; readonly amount: number }>
}

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += chunk
  return JSON.parse(text)
}

/** A payment provider that knows each payment by its reference, and makes it at most once. */
export const startProvider = async (): Promise<PretendProvider> => {
  const payments = new Map<string, Payment>()
  const transfers: Array<{ description: string; amount: number }> = []

  const paid = ({ amount, description, valid_until }: PaymentOrder): Payment => {
    const now = new Date()
    if (now >= new Date(valid_until) || amount >= DECLINED_FROM) return { status: "declined" }
    transfers.push({ description, amount })
    return { status: "accepted", id: `txn_${randomUUID()}`, accepted_at: now.toISOString() }
  }

  const server = createServer(async (request, response) => {
    const [, reference = "", isClosing] = /^\/payments\/([^/]+)(\/close)?$/u.exec(request.url ?? "") ?? []
    const body = (await bodyOf(request)) as PaymentOrder
    const payment = payments.get(reference) ?? (isClosing ? { status: "closed" } : paid(body))
    payments.set(reference, payment)
    response.setHeader("content-type", "application/json").end(JSON.stringify(payment))
  })
  return { ...(await listening(server)), transfers }
}
