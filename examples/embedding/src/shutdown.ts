import type { Server } from "node:http"
import type { Service } from "svc"

/** Lets requests end, then calls and deliveries, and closes the store. */
export const stop = async (server: Server, service: Service): Promise<void> => {
  await new Promise((resolve) => server.close(resolve))
  await service.close()
}
