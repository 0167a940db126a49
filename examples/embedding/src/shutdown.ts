import type { Server } from "node:http"
import type { Service } from "svc"

/** Lets requests end, then calls, deliveries and the store; `exit` is `process.exit`. */
export const stop = async (server: Server, service: Service): Promise<void> => {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeIdleConnections()
  })
  await service.close()
}
