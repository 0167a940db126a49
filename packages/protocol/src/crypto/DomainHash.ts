import { sha256 } from "@noble/hashes/sha2.js"

const LINES = [
  "svc:authorization:commitment:v1",
  "svc:mandate:policy:v1",
  "svc:mandate:approval:v1",
  "svc:journal:event:v1"
] as const

/** The domain-separation prefix of each kind of hash, so that a hash of one kind never passes for another. */
export type DomainLine = (typeof LINES)[number]

/** The bytes of each line and its line feed. */
const prefixes = new Map<DomainLine, Uint8Array>(
  LINES.map((line) => [line, new TextEncoder().encode(`${line}\n`)])
)

/** SHA-256(line || LF || content), 32 bytes. */
export const domainHash = (line: DomainLine, content: Uint8Array): Uint8Array =>
  sha256.create().update(prefixes.get(line)!).update(content).digest()
