import { randomUUID } from "node:crypto"
import { sessions } from "../../service.ts"

/** Stands for the shop's login. */
export const POST = async (request: Request): Promise<Response> => {
  const { customer } = (await request.json()) as { customer: string }
  const session = randomUUID()
  sessions.set(session, customer)
  return Response.json({ session }, { status: 201 })
}
