import { signerSuite } from "@svc/testkit/SignerSuite"
import { layerEphemeral } from "./SignerNoble.ts"

signerSuite("noble", layerEphemeral)
