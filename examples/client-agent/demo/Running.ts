import { once } from "node:events"
import type { Server } from "node:http"

/** A server on a port of its own. */
export interface Running {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const listening = async (server: Server): Promise<Running> => {
  server.listen(0, "localhost")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  return {
    url: `http://localhost:${port}`,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    }
  }
}
