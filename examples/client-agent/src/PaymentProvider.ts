/** A payment, as the provider has it. */
export type Payment =
  | { readonly status: "accepted"; readonly id: string; readonly accepted_at: string }
  /** It was refused, and will be whenever it is asked for again. */
  | { readonly status: "declined" }
  /** It was not paid before it was closed, and no request for it is accepted any more. */
  | { readonly status: "closed" }

export interface PaymentOrder {
  readonly amount: number
  readonly currency: string
  readonly description: string
  /** The provider accepts it before this time alone. */
  readonly valid_until: string
}

/** What the agent asks of a provider: both answer the same for the same reference, however often they are asked. */
export interface PaymentProvider {
  readonly pay: (reference: string, order: PaymentOrder, signal: AbortSignal) => Promise<Payment>
  /** The payment if it was accepted or declined; otherwise it is closed, so that a request still on its way cannot pay. */
  readonly close: (reference: string) => Promise<Payment>
}

/** Longest that the provider may take to answer, in milliseconds. */
const TIMEOUT_MS = 30_000

export const makePaymentProvider = (url: string): PaymentProvider => {
  const ask = async (
    path: string,
    body: object,
    signals: ReadonlyArray<AbortSignal> = []
  ): Promise<Payment> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...signals])
    })
    if (!response.ok) throw new Error(`the provider answers ${response.status}`)
    return (await response.json()) as Payment
  }
  return {
    pay: (reference, order, signal) => ask(`/payments/${reference}`, order, [signal]),
    close: (reference) => ask(`/payments/${reference}/close`, {})
  }
}
