import type { MandateStore } from "@svc/domain/ports/MandateStore"
import { storeContract } from "@svc/testkit/StoreContract"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { mayShare } from "./AppendLanes.ts"
import * as PgliteStore from "./PgliteStore.ts"
import { makeAppend } from "./PostgresAppend.ts"
import { makeAppendGroup } from "./PostgresAppendGroup.ts"
import { portsWith } from "./PostgresStore.ts"

storeContract("PgliteStore", () => PgliteStore.layer(), { clock: "live" })

/** Sends even a change that comes by itself through the statement for many, if it may go there. */
const alwaysTogether = Layer.effectContext(
  Effect.map(PgliteStore.connect({}), (clients) => {
    const alone = makeAppend(clients)
    const together = makeAppendGroup(clients)
    const append: MandateStore["Service"]["append"] = (change) =>
      mayShare(change)
        ? Effect.flatMap(together([change]), ([outcome]) =>
            outcome === undefined || outcome === "alone" ? alone(change) : outcome
          )
        : alone(change)
    return portsWith(clients, append)
  })
).pipe(Layer.provide(Reactivity.layer))

storeContract("Grouped appends on PGlite", () => alwaysTogether, { clock: "live" })
