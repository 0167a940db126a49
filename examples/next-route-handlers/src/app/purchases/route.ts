import { SvcError } from "svc"
import { type Purchase, purchase } from "../../purchase.ts"
import { sessions } from "../../service.ts"

export const POST = async (request: Request): Promise<Response> => {
  try {
    const { session, ...order } = (await request.json()) as Omit<Purchase, "customer"> & { session: string }
    const customer = sessions.get(session)
    if (customer === undefined) return Response.json({ error: "nobody is logged in" }, { status: 401 })
    const bought = await purchase({ ...order, customer })
    if (bought === undefined)
      return Response.json({ error: "the mandate is somebody else's" }, { status: 403 })
    const { decision, reasons, state } = bought
    return Response.json({ decision, state, reasons }, { status: decision === "ALLOW" ? 201 : 403 })
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    return Response.json({ code: error.code, error: error.message }, { status: error.status ?? 500 })
  }
}
