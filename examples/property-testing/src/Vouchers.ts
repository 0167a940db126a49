/** A rule of the team's own, beside the mandate: a voucher is spent once, and not after it was withdrawn. */
export type VoucherCommand =
  | { readonly type: "spend"; readonly order: string }
  | { readonly type: "withdraw" }
export type VoucherEvent = { readonly type: "spent"; readonly order: string } | { readonly type: "withdrawn" }

export const voucher = {
  initialState: "open" as "open" | "spent" | "withdrawn",
  decide: (state: "open" | "spent" | "withdrawn", command: VoucherCommand): ReadonlyArray<VoucherEvent> => {
    if (command.type === "withdraw") return state === "open" ? [{ type: "withdrawn" }] : []
    if (state !== "open") throw new Error(`the voucher is ${state}`)
    return [{ type: "spent", order: command.order }]
  },
  evolve: (_: "open" | "spent" | "withdrawn", event: VoucherEvent): "spent" | "withdrawn" => event.type
}
