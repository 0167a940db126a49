import type { IncomingMessage, ServerResponse } from "node:http"
import { toNodeHandler } from "./node.ts"
import type { Service } from "./Service.ts"

/**
 * Middleware for Express 5: `app.use(svcExpress(service))`, in front of `express.json()`. What is not below the paths of the
 * service goes on to the next handler.
 */
export const svcExpress: (
  service: Service
) => (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void =
  toNodeHandler
