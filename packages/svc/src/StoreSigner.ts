import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import * as ExternalSigner from "@svc/signer/ExternalSigner"
import * as StoredSigner from "@svc/signer/StoredSigner"
import { Layer } from "effect"

/** The signer of a store that keeps signing keys: the host's, beside the keys that signed before, or one with its keys. */
export const signerBeside = (
  signer: ExternalSigner.ExternalSigner | undefined
): Layer.Layer<Signer, unknown, SigningKeyRecords | SecretSealer | StoreHealth> =>
  signer === undefined
    ? Layer.provide(StoredSigner.layer, KeyManagementOnDemand.layer)
    : ExternalSigner.layerBesideStored(signer)
