import type { Server } from "node:http"
import type { Service } from "svc"

/** Lets requests end, and their connections with them, then calls and deliveries, and closes the store. */
export const stop = async (server: Server, service: Service): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  const idle = setInterval(() => server.closeIdleConnections(), 100)
  await closed
  clearInterval(idle)
  await service.close()
}
