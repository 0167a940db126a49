import type { Service } from "svc"
import { toRouteHandlers } from "svc/next"
import { makeService } from "./service.ts"

// Next may load a module once for each route, and both routes need the same service.
const kept = globalThis as { service?: Service }
export const { GET, HEAD, POST, PUT, DELETE } = toRouteHandlers(() => {
  kept.service ??= makeService(3000)
  return kept.service
})
