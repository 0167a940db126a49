import {
  createCipheriv,
  createDecipheriv,
  generateKeyPairSync,
  type KeyObject,
  randomBytes
} from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { p256 } from "@noble/curves/nist.js"
import { Effect } from "effect"
import { serve } from "./LoopbackServer.ts"

/*
 * AWS KMS as far as it is used, over loopback, in its wire format: AWS JSON 1.1, the operation in X-Amz-Target, errors by `__type`
 * in the body (AWS Key Management Service API Reference).
 */

export const REGION = "eu-central-1"
export const ACCOUNT = "111122223333"

export interface FakeKey {
  readonly arn: string
  readonly spec: string
  readonly usage: string
  /** Replaced by tests that have the service sign with another key. */
  privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly symmetric: Buffer
  state: "Enabled" | "Disabled" | "PendingDeletion"
}

type Body = Readonly<Record<string, unknown>>

export interface AwsCall {
  readonly operation: string
  readonly authorization: string
  readonly body: Body
}

/** How the service answers instead of doing what it is asked for. */
export type AwsAnswer =
  | { readonly status: number; readonly type: string; readonly message?: string }
  | "silence"
  | "cut"
  | { readonly body: Body }
  | { readonly text: string }

export interface FakeAwsKms {
  readonly endpoint: string
  readonly calls: Array<AwsCall>
  readonly addKey: (options?: { readonly spec?: string; readonly usage?: string }) => FakeKey
  readonly alias: (name: string, key: FakeKey) => void
  /** Answers of the next calls, in their order; `undefined` lets one through. */
  readonly next: Array<AwsAnswer | undefined>
  /** Answers every call, until it is removed. */
  always: AwsAnswer | undefined
}

class AwsError extends Error {
  readonly type: string

  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

const curveOf = (spec: string): string => (spec === "ECC_NIST_P384" ? "P-384" : "P-256")

const makeKey = (arn: string, spec: string, usage: string): FakeKey => {
  const { privateKey, publicKey } =
    spec === "RSA_2048"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: curveOf(spec) })
  return { arn, spec, usage, privateKey, publicKey, symmetric: randomBytes(32), state: "Enabled" }
}

const contextBytes = (context: unknown): Buffer =>
  Buffer.from(JSON.stringify(Object.entries(context ?? {}).sort()))

/** A ciphertext names its key, as those of AWS KMS do. */
const encrypt = ({ arn, symmetric }: FakeKey, plain: Buffer, context: unknown): Buffer => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", symmetric, nonce)
  cipher.setAAD(contextBytes(context))
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([Buffer.from(`${arn}\n`), nonce, cipher.getAuthTag(), sealed])
}

const decrypt = (key: FakeKey, sealed: Buffer, context: unknown): Buffer => {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key.symmetric, sealed.subarray(0, 12))
    decipher.setAAD(contextBytes(context))
    decipher.setAuthTag(sealed.subarray(12, 28))
    return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
  } catch {
    throw new AwsError("InvalidCiphertextException", "")
  }
}

/** ECDSA of a digest in DER, with s of either half, as KMS gives it. */
const signDigest = (key: KeyObject, digest: Uint8Array): Uint8Array => {
  const scalar = Buffer.from(key.export({ format: "jwk" }).d!, "base64url")
  return p256.sign(digest, scalar, { prehash: false, lowS: false, format: "der" })
}

const makeService = () => {
  const keys = new Map<string, FakeKey>()
  const named = (id: unknown): FakeKey => {
    const key = keys.get(String(id)) ?? keys.get(`arn:aws:kms:${REGION}:${ACCOUNT}:${String(id)}`)
    if (key === undefined) throw new AwsError("NotFoundException", `Key '${String(id)}' does not exist`)
    return key
  }
  const usable = (id: unknown): FakeKey => {
    const key = named(id)
    if (key.state === "Disabled") throw new AwsError("DisabledException", `${key.arn} is disabled.`)
    if (key.state === "PendingDeletion")
      throw new AwsError("KMSInvalidStateException", `${key.arn} is pending deletion.`)
    return key
  }
  const OPERATIONS: Readonly<Record<string, (body: Body) => Body>> = {
    GetPublicKey: ({ KeyId }) => {
      const key = usable(KeyId)
      if (key.spec === "SYMMETRIC_DEFAULT") throw new AwsError("UnsupportedOperationException", "")
      return {
        KeyId: key.arn,
        KeySpec: key.spec,
        KeyUsage: key.usage,
        PublicKey: key.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
        SigningAlgorithms: key.spec === "ECC_NIST_P256" ? ["ECDSA_SHA_256"] : ["ECDSA_SHA_384"]
      }
    },
    Sign: ({ KeyId, Message, MessageType, SigningAlgorithm }) => {
      const key = usable(KeyId)
      if (key.usage !== "SIGN_VERIFY") throw new AwsError("InvalidKeyUsageException", "")
      if (MessageType !== "DIGEST" || SigningAlgorithm !== "ECDSA_SHA_256")
        throw new AwsError("ValidationException", "1 validation error detected")
      const digest = Buffer.from(String(Message), "base64")
      if (digest.length !== 32) throw new AwsError("ValidationException", "Digest is invalid length")
      return {
        KeyId: key.arn,
        SigningAlgorithm,
        Signature: Buffer.from(signDigest(key.privateKey, digest)).toString("base64")
      }
    },
    GenerateDataKeyWithoutPlaintext: ({ EncryptionContext, KeyId, NumberOfBytes }) => {
      const key = usable(KeyId)
      if (key.usage !== "ENCRYPT_DECRYPT") throw new AwsError("InvalidKeyUsageException", "")
      const sealed = encrypt(key, randomBytes(Number(NumberOfBytes)), EncryptionContext)
      return { KeyId: key.arn, CiphertextBlob: sealed.toString("base64") }
    },
    Decrypt: ({ CiphertextBlob, EncryptionContext, KeyId }) => {
      const blob = Buffer.from(String(CiphertextBlob), "base64")
      const end = blob.indexOf("\n")
      const key = usable(blob.subarray(0, end).toString())
      if (KeyId !== undefined && named(KeyId) !== key) throw new AwsError("IncorrectKeyException", "")
      const plain = decrypt(key, blob.subarray(end + 1), EncryptionContext)
      return {
        KeyId: key.arn,
        Plaintext: plain.toString("base64"),
        EncryptionAlgorithm: "SYMMETRIC_DEFAULT"
      }
    }
  }
  const addKey: FakeAwsKms["addKey"] = ({ spec = "ECC_NIST_P256", usage = "SIGN_VERIFY" } = {}) => {
    const arn = `arn:aws:kms:${REGION}:${ACCOUNT}:key/${crypto.randomUUID()}`
    const key = makeKey(arn, spec, usage)
    keys.set(arn, key)
    return key
  }
  const perform = (operation: string, body: Body): Body => {
    const run = OPERATIONS[operation]
    if (run === undefined) throw new AwsError("UnknownOperationException", "")
    return run(body)
  }
  return { addKey, alias: (name: string, key: FakeKey) => void keys.set(`alias/${name}`, key), perform }
}

const readAll = async (request: IncomingMessage): Promise<string> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

const reply = (response: ServerResponse, status: number, text: string): void => {
  response.writeHead(status, {
    "content-type": "application/x-amz-json-1.1",
    "x-amzn-requestid": crypto.randomUUID()
  })
  response.end(text)
}

const replyError = (response: ServerResponse, status: number, type: string, message = ""): void =>
  reply(response, status, JSON.stringify({ __type: type, message }))

/** Serves until the scope closes. */
export const fakeAwsKms = Effect.gen(function* () {
  const { perform, ...service } = makeService()
  const fake: Omit<FakeAwsKms, "endpoint"> = { ...service, calls: [], next: [], always: undefined }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const operation = String(request.headers["x-amz-target"]).replace(/^TrentService\./u, "")
    const body = JSON.parse(await readAll(request)) as Body
    const { authorization = "" } = request.headers
    fake.calls.push({ operation, authorization, body })
    const planned = fake.next.shift() ?? fake.always
    if (planned === "silence") return
    if (planned === "cut") return void request.socket.destroy()
    if (planned !== undefined && "status" in planned)
      return replyError(response, planned.status, planned.type, planned.message)
    if (planned !== undefined && "text" in planned) return reply(response, 200, planned.text)
    if (!authorization.startsWith("AWS4-HMAC-SHA256 ") || !authorization.includes(`/${REGION}/kms/`))
      return replyError(response, 400, "IncompleteSignatureException")
    if (request.headers["content-type"] !== "application/x-amz-json-1.1")
      return replyError(response, 400, "SerializationException")
    try {
      const made = perform(operation, body)
      reply(response, 200, JSON.stringify(planned === undefined ? made : { ...made, ...planned.body }))
    } catch (error) {
      if (!(error instanceof AwsError)) throw error
      replyError(response, 400, error.type, error.message)
    }
  }
  return Object.assign(fake, { endpoint: yield* serve(answer) }) as FakeAwsKms
})
