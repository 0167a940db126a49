import { toRouteHandlers } from "svc/next"
import { makeService } from "./service.ts"

export const { GET, HEAD, POST, PUT, DELETE } = toRouteHandlers(makeService(3000))
