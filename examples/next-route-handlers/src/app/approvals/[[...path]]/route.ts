import { toRouteHandlers } from "svc/next"
import { service } from "../../../service.ts"

export const { GET, HEAD, POST, PUT, DELETE } = toRouteHandlers(service)
