import type { ServiceOptions } from "svc"

/** The client's address as the one proxy in front of this process wrote it, which no client can reach past. */
export const behindOneProxy: Pick<ServiceOptions, "clientAddress"> = {
  clientAddress: (request) => request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim()
}
