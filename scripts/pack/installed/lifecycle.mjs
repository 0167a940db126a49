// The lifecycle of examples/quickstart, compiled in the folder where the packages are installed.
import { Effect } from "effect"
import { lifecycle, ports } from "./out/embedded.js"

console.log(JSON.stringify(await Effect.runPromise(Effect.provide(lifecycle, ports))))
