import { MandateStore } from "@svc/domain/ports/MandateStore"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Effect, Layer } from "effect"
import type { Store } from "svc"
import { storeOf } from "svc/effect"

/** The memory store with an append of its own, which tells how many events it recorded. */
export const observedPorts = (onAppend: (events: number) => void): Layer.Layer<StoragePorts> =>
  Layer.effect(
    MandateStore,
    Effect.map(MandateStore, (mandates) => ({
      ...mandates,
      append: (change) =>
        Effect.tap(mandates.append(change), () => Effect.sync(() => onAppend(change.events.length)))
    }))
  ).pipe(Layer.provideMerge(MemoryStore.layer))

/** The same for `createService`, with a signing key that is lost with the process, as the rows are. */
export const observedStore = (onAppend: (events: number) => void): Store =>
  storeOf(Layer.merge(observedPorts(onAppend), SignerNodeCrypto.layerEphemeral), { outlivesProcess: false })
