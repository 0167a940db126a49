import { sha256 } from "@noble/hashes/sha2.js"

/** The domain-separation prefix of each kind of hash, so that a hash of one kind never passes for another. */
export type DomainLine =
  | "svc:authorization:commitment:v1"
  | "svc:mandate:policy:v1"
  | "svc:mandate:approval:v1"
  | "svc:journal:event:v1"

const LINE_FEED = 0x0a

/** SHA-256(line || LF || content), 32 bytes. */
export const domainHash = (line: DomainLine, content: Uint8Array): Uint8Array =>
  sha256
    .create()
    .update(new TextEncoder().encode(line))
    .update(Uint8Array.of(LINE_FEED))
    .update(content)
    .digest()
