import {
  constants,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes
} from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { p256 } from "@noble/curves/nist.js"
import { Effect } from "effect"
import { serve } from "./LoopbackServer.ts"

/* Azure Key Vault as far as it is used, over loopback, in the wire format of its REST API (Azure Key Vault REST API, Keys). */

export interface VaultKey {
  /** Its identifier, with the version. */
  readonly id: string
  readonly type: "EC" | "EC-HSM" | "RSA"
  privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly operations: ReadonlyArray<string>
  isEnabled: boolean
}

export interface VaultAnswer {
  readonly status: number
  readonly body: object
}

export interface FakeKeyVault {
  readonly url: string
  readonly calls: Array<string>
  readonly addKey: (options?: {
    readonly type?: VaultKey["type"]
    readonly curve?: string
    readonly operations?: ReadonlyArray<string>
  }) => VaultKey
  /** Answers every call with a token, until it is removed. */
  always: VaultAnswer | "silence" | undefined
}

const vaultError = (status: number, code: string, inner?: string): VaultAnswer => ({
  status,
  body: { error: { code, message: "", ...(inner === undefined ? {} : { innererror: { code: inner } }) } }
})

export const VAULT_FAULTS = {
  throttled: vaultError(429, "Throttled"),
  down: vaultError(500, "InternalServerError"),
  denied: vaultError(403, "Forbidden", "AccessDenied"),
  disabled: vaultError(403, "Forbidden", "KeyDisabled"),
  missing: vaultError(404, "KeyNotFound")
}

const RSA_OAEP_256 = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }

const bytesOf = (value: unknown): Buffer => Buffer.from(String(value), "base64url")

const performed = (
  key: VaultKey,
  operation: string | undefined,
  body: Readonly<Record<string, unknown>>
): VaultAnswer => {
  if (operation === undefined) {
    const jwk = { ...key.publicKey.export({ format: "jwk" }), kty: key.type }
    const attributes = { enabled: key.isEnabled, created: 1, updated: 1 }
    return { status: 200, body: { key: { kid: key.id, key_ops: key.operations, ...jwk }, attributes } }
  }
  if (!key.isEnabled) return VAULT_FAULTS.disabled
  const value = bytesOf(body.value)
  const answer = (bytes: Uint8Array): VaultAnswer => ({
    status: 200,
    body: { kid: key.id, value: Buffer.from(bytes).toString("base64url") }
  })
  if (operation === "sign" && body.alg === "ES256" && value.length === 32) {
    const scalar = bytesOf(key.privateKey.export({ format: "jwk" }).d)
    return answer(p256.sign(value, scalar, { prehash: false, lowS: false, format: "compact" }))
  }
  if (operation === "wrapkey" && body.alg === "RSA-OAEP-256")
    return answer(publicEncrypt({ key: key.publicKey, ...RSA_OAEP_256 }, value))
  if (operation === "unwrapkey" && body.alg === "RSA-OAEP-256")
    return answer(privateDecrypt({ key: key.privateKey, ...RSA_OAEP_256 }, value))
  return vaultError(400, "BadParameter")
}

const readAll = async (request: IncomingMessage): Promise<string> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

const reply = (response: ServerResponse, { body, status }: VaultAnswer): void => {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" })
  response.end(JSON.stringify(body))
}

const makeVault = () => {
  const keys = new Map<string, VaultKey>()
  const state = { url: "", calls: [] as Array<string>, always: undefined as FakeKeyVault["always"] }
  const vault: FakeKeyVault = Object.assign(state, {
    addKey: ({
      curve = "P-256",
      operations = ["sign", "verify", "wrapKey", "unwrapKey"],
      type = "EC"
    }: Parameters<FakeKeyVault["addKey"]>[0] = {}) => {
      const pair =
        type === "RSA"
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync("ec", { namedCurve: curve })
      const path = `/keys/k${keys.size}/${randomBytes(16).toString("hex")}`
      const key: VaultKey = { id: state.url + path, type, ...pair, operations, isEnabled: true }
      keys.set(path, key)
      keys.set(path.slice(0, path.lastIndexOf("/")), key)
      return key
    }
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? "", state.url).pathname.replace(/\/$/u, "")
    const text = await readAll(request)
    if (request.headers.authorization !== "Bearer token") {
      response.setHeader(
        "www-authenticate",
        'Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.azure.net"'
      )
      return reply(response, vaultError(401, "Unauthorized"))
    }
    const [, at = path, operation] = /^(\/keys\/[^/]+\/[^/]+)\/([a-z]+)$/u.exec(path) ?? []
    state.calls.push(operation ?? "get")
    const { always } = state
    if (always === "silence") return
    const key = keys.get(at)
    if (always !== undefined || key === undefined) return reply(response, always ?? VAULT_FAULTS.missing)
    reply(response, performed(key, operation, text === "" ? {} : JSON.parse(text)))
  }
  return { vault, state, answer }
}

/** Serves until the scope closes. */
export const fakeKeyVault = Effect.gen(function* () {
  const { answer, state, vault } = makeVault()
  state.url = yield* serve(answer)
  return vault
})
