/** A program: makes an embedded database in the folder that it is given, with its schema up to date. */
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import * as PgliteStore from "../src/PgliteStore.ts"

const [folder = ""] = process.argv.slice(2)

await Effect.runPromise(Effect.scoped(PgliteStore.connect({ folder })).pipe(Effect.provide(Reactivity.layer)))
