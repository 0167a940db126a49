import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

/*
 * An S3-compatible store on loopback, as far as an archive needs it. It checks signatures (AWS Signature Version 4), the
 * digests of what is written, and conditions, with code of its own.
 */

export const CREDENTIALS = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "secret/of+the=fake" } as const
export const REGION = "eu-central-1"

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
const sha256 = (content: string | Buffer, encoding: "hex" | "base64"): string =>
  createHash("sha256").update(content).digest(encoding)

const isSigned = (request: IncomingMessage, body: Buffer): boolean => {
  const { headers, method, url } = request
  const [, day, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/(\d{8})\/eu-central-1\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/u.exec(
      headers.authorization ?? ""
    ) ?? []
  if (day === undefined || signed === undefined) return false
  const digest = String(headers["x-amz-content-sha256"])
  if (digest !== "UNSIGNED-PAYLOAD" && digest !== sha256(body, "hex")) return false
  const lines = signed.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, url, "", lines.join(""), signed, digest].join("\n")
  const scope = `${day}/${REGION}/s3/aws4_request`
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical, "hex")].join("\n")
  const key = [REGION, "s3", "aws4_request"].reduce(
    (made: Buffer, part) => hmac(made, part),
    hmac(`AWS4${CREDENTIALS.secretAccessKey}`, day)
  )
  return hmac(key, text).toString("hex") === signature
}

export interface FakeBucket {
  readonly endpoint: string
  /** By path. */
  readonly objects: Map<string, Buffer>
  /** Statuses to answer next, whatever is asked. */
  readonly faults: Array<number>
  readonly close: () => Promise<void>
}

const statusOf = (request: IncomingMessage, body: Buffer, objects: Map<string, Buffer>): number => {
  const path = String(request.url)
  if (!isSigned(request, body)) return 403
  if (request.method === "GET") return objects.has(path) ? 200 : 404
  if (request.headers["x-amz-checksum-sha256"] !== sha256(body, "base64")) return 400
  if (request.headers["if-none-match"] !== "*") return 400
  if (objects.has(path)) return 412
  objects.set(path, body)
  return 200
}

export const startFakeBucket = async (): Promise<FakeBucket> => {
  const objects = new Map<string, Buffer>()
  const faults: Array<number> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const status = faults.shift() ?? statusOf(request, Buffer.concat(chunks), objects)
    response.writeHead(status)
    response.end(status === 200 && request.method === "GET" ? objects.get(String(request.url)) : "")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      })
  }
}
