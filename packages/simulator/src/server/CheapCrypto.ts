/**
 * Stand-ins for what costs much and is tested elsewhere: signatures of evidence, passkeys, identity assertions and sealed
 * secrets. Each keeps the property that the rules depend on: it verifies only what was made for the same purpose.
 */
import { createHash } from "node:crypto"
import { IdentityAssertionRefused, IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import { PasskeyRefused, PasskeyVerifier } from "@svc/domain/ports/PasskeyVerifier"
import { SealBroken, type SealContext, SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { Effect, Redacted } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import type { Host } from "../time/Host.ts"
import { MILLISECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"

const textBytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const encodeText = (value: JsonValue): string => encodeBase64Url(textBytes(JSON.stringify(value)))
const decodeText = (text: string): JsonObject =>
  JSON.parse(new TextDecoder().decode(decodeBase64Url(text) ?? textBytes("{}")))

/** What a backend vouches for: its user, now. */
export const makeAssertion = (claims: {
  readonly subject: string
  readonly jti: string
  readonly expiresAt: bigint
  readonly enrol: boolean
}): string => encodeText({ ...claims, expiresAt: String(claims.expiresAt) })

export const cheapIdentities = IdentityVerifier.of({
  verify: ({ assertion, now, settings }) => {
    const claims = decodeText(assertion)
    const expiresAt = BigInt(String(claims.expiresAt))
    return expiresAt <= now
      ? Effect.fail(new IdentityAssertionRefused({ reason: "expired" }))
      : Effect.succeed({
          issuer: settings.issuer,
          subject: String(claims.subject),
          jti: String(claims.jti),
          expiresAt,
          enrolmentAllowed: claims.enrol === true
        })
  }
})

/** A user's device with one passkey. */
export interface Device {
  readonly credentialId: string
  counter: number
}

export const newDevice = (random: SeededRandom): Device => ({
  credentialId: encodeBase64Url(random.bytes(16)),
  counter: 0
})

const clientData = (options: JsonObject): string => encodeText({ challenge: options.challenge ?? "" })

export const registerWith = ({ credentialId }: Device, options: JsonObject): JsonObject => ({
  id: credentialId,
  rawId: credentialId,
  type: "public-key",
  response: { clientDataJSON: clientData(options), attestationObject: encodeText({ credentialId }) }
})

export const authenticateWith = (device: Device, options: JsonObject): JsonObject => {
  device.counter += 1
  const { counter, credentialId } = device
  return {
    id: credentialId,
    rawId: credentialId,
    type: "public-key",
    response: {
      clientDataJSON: clientData(options),
      authenticatorData: encodeText({ counter }),
      signature: encodeText({ credentialId })
    }
  }
}

const challenged = (clientDataJSON: string, challenge: string): boolean =>
  decodeText(clientDataJSON).challenge === challenge

export const cheapPasskeys = PasskeyVerifier.of({
  verifyRegistration: ({ challenge, response }) =>
    challenged(response.response.clientDataJSON, challenge)
      ? Effect.succeed({
          credentialId: response.id,
          publicKey: encodeText({ of: response.id }),
          algorithm: -7,
          counter: 0,
          backupEligible: true
        })
      : Effect.fail(new PasskeyRefused({ reason: "another challenge" })),
  verifyAssertion: ({ challenge, credential, response }) => {
    const counter = Number(decodeText(response.response.authenticatorData).counter)
    const isOwn = decodeText(response.response.signature).credentialId === credential.credentialId
    if (!isOwn || !challenged(response.response.clientDataJSON, challenge)) {
      return Effect.fail(new PasskeyRefused({ reason: "another credential or challenge" }))
    }
    return counter > credential.counter
      ? Effect.succeed({ counter })
      : Effect.fail(new PasskeyRefused({ reason: "the counter turned back" }))
  }
})

const sealedFor = ({ organization, purpose, row, version }: SealContext): string =>
  `${purpose} ${organization} ${row} ${version} `

export const cheapSealer = SecretSealer.of({
  seal: (context, secret) => Effect.succeed(sealedFor(context) + Redacted.value(secret)),
  open: (context, sealed) => {
    const prefix = sealedFor(context)
    return sealed.startsWith(prefix)
      ? Effect.succeed(Redacted.make(sealed.slice(prefix.length)))
      : Effect.fail(new SealBroken({ purpose: context.purpose }))
  }
})

/** The secret of a sealed text, for the audit. */
export const unsealed = (sealed: string): string => sealed.slice(sealed.lastIndexOf(" ") + 1)

const signature = (kid: string, data: Uint8Array): Uint8Array =>
  createHash("sha512").update(kid).update(data).digest()

/** The signing keys of the deployment, which an operator rotates. */
export class SigningKeys {
  readonly kids: Array<string> = ["key-1"]

  get current(): string {
    return this.kids.at(-1)!
  }

  rotate(): void {
    this.kids.push(`key-${this.kids.length + 1}`)
  }

  verifies(kid: string, data: Uint8Array, given: Uint8Array): boolean {
    return this.kids.includes(kid) && Buffer.compare(signature(kid, data), given) === 0
  }
}

/** Longest time that a signature takes. */
const LONGEST_SIGNATURE = 40 * MILLISECOND

/** Signs with the key that is current when evidence is begun, and takes its time, as a key service does. */
export const cheapSigner = ({
  host,
  keys,
  random,
  rare,
  time
}: {
  readonly host: Host
  readonly keys: SigningKeys
  readonly random: SeededRandom
  readonly rare: RarePaths
  readonly time: SimulatedTime
}): Signer["Service"] => ({
  current: Effect.sync(() => {
    const kid = keys.current
    return {
      kid,
      begin: () => {
        const hash = createHash("sha512").update(kid)
        return {
          update: (piece) => {
            hash.update(piece)
          },
          signature: Effect.callback<Uint8Array>((resume) => {
            time.after(random.integer(1, LONGEST_SIGNATURE), "signature", host, () => {
              if (keys.current !== kid) rare.count("rotation in mid-sign")
              resume(Effect.succeed(new Uint8Array(hash.digest())))
            })
          })
        }
      }
    }
  }),
  keySet: Effect.succeed({ keys: [] })
})
