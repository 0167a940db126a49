import { SvcError } from "svc"
import { type Purchase, purchase } from "../../purchase.ts"

export const POST = async (request: Request): Promise<Response> => {
  try {
    const { decision, reasons, state } = await purchase((await request.json()) as Purchase)
    return Response.json({ decision, state, reasons }, { status: decision === "ALLOW" ? 201 : 403 })
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    return Response.json({ code: error.code, error: error.message }, { status: error.status ?? 500 })
  }
}
