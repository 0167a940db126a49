import { sha256, sha256Base64Url } from "./Sha256.ts"

/** The domain-separation prefix of each kind of hash, so that a hash of one kind never passes for another. */
export type DomainLine =
  | "svc:authorization:commitment:v1"
  | "svc:mandate:policy:v1"
  | "svc:mandate:approval:v1"
  | "svc:journal:event:v1"

const encoder = new TextEncoder()

/** What is hashed for a content that is text: line || LF || content. */
export const inDomain = (line: DomainLine, content: string): string => `${line}\n${content}`

const bytesInDomain = (line: DomainLine, content: Uint8Array): Uint8Array => {
  const prefix = encoder.encode(inDomain(line, ""))
  const bytes = new Uint8Array(prefix.length + content.length)
  bytes.set(prefix)
  bytes.set(content, prefix.length)
  return bytes
}

const hashed = (line: DomainLine, content: string | Uint8Array): string | Uint8Array =>
  typeof content === "string" ? inDomain(line, content) : bytesInDomain(line, content)

/** SHA-256(line || LF || content), 32 bytes. A text stands for its UTF-8. */
export const domainHash = (line: DomainLine, content: string | Uint8Array): Uint8Array =>
  sha256(hashed(line, content))

/** {@link domainHash} as base64url. */
export const domainHashBase64Url = (line: DomainLine, content: string | Uint8Array): string =>
  sha256Base64Url(hashed(line, content))
