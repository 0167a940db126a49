import * as WebhookTransportHttp from "@svc/guarded-http/WebhookTransportHttp"
import * as RandomnessNodeCrypto from "@svc/signer/RandomnessNodeCrypto"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { Layer, Redacted } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"

/** What the processes that deliver webhooks share. */
export interface WebhookPlace {
  readonly url: string
  readonly schema: string
  /** 32 bytes, base64url: what secrets are sealed with. */
  readonly masterKey: string
}

/** What a process needs that delivers webhooks, to this machine too, as `svc worker` puts it together. */
export const webhookPorts = ({ masterKey, schema, url }: WebhookPlace, migrations: "run" | "require") =>
  Layer.mergeAll(
    PostgresStore.layer({ url: Redacted.make(url), schema, migrations }),
    RandomnessNodeCrypto.layer,
    Layer.orDie(
      SecretSealerNodeCrypto.layer({
        current: Redacted.make(Uint8Array.from(Buffer.from(masterKey, "base64url")))
      })
    ),
    WebhookTransportHttp.layer({ loopbackAllowed: true })
  )
