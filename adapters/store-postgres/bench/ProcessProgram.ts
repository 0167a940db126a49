/** A process of `npm run bench:processes`: prints its pairs per second, and ends sooner if its parent is gone. */
import { Effect, Layer, Redacted } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"
import { portsBesideStore } from "../test/ProgramsOnPostgres.ts"
import { programLoop } from "./ProgramLoop.ts"

const [url = "", schema = "", clients = "", warmUp = "", seconds = ""] = process.argv.slice(2)

process.stdin.resume().once("end", () => process.exit())

const store = PostgresStore.layer({ url: Redacted.make(url), schema, migrations: "require" })

const rate = await Effect.gen(function* () {
  yield* programLoop({ clients: Number(clients), seconds: Number(warmUp) })
  return yield* programLoop({ clients: Number(clients), seconds: Number(seconds) })
}).pipe(Effect.provide(Layer.mergeAll(store, portsBesideStore)), Effect.runPromise)

process.stdout.write(`${rate}\n`, () => process.exit())
