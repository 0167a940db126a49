/** A shop on Nest: customers allow purchases with a passkey, and purchases are made within that. */
import "reflect-metadata"
import { makeApp } from "./mounted.ts"
import { ORIGIN, PORT } from "./service.ts"

const app = await makeApp()
const server = await app.listen(PORT, "localhost")
server.requestTimeout = 30_000
console.log(`the shop is at ${ORIGIN}`)
