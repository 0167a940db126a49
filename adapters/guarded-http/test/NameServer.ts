import { createSocket, type Socket } from "node:dgram"
import { isIPv4 } from "node:net"
import { Effect, type Scope } from "effect"

export type RecordType = "A" | "AAAA"

/** What the server says to a question: addresses, `NXDOMAIN`, `SERVFAIL`, or nothing at all. */
export type NameAnswer = ReadonlyArray<string> | "NXDOMAIN" | "SERVFAIL" | "silence"

export interface NameServer {
  /** `address:port`, as a resolver takes it. */
  readonly address: string
  readonly questions: Array<{ readonly name: string; readonly type: RecordType }>
}

const HEADER_BYTES = 12
const TYPES: Readonly<Record<number, RecordType>> = { 1: "A", 28: "AAAA" }
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 }
const RESPONSE_RECURSIVE = 0x8180
const POINTER_TO_QUESTION = 0xc00c

const readQuestion = (query: Buffer) => {
  const labels: Array<string> = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString("latin1"))
    at += 1 + length
  }
  const code = query.readUInt16BE(at + 1)
  return { name: labels.join(".").toLowerCase(), code, bytes: query.subarray(HEADER_BYTES, at + 5) }
}

const addressBytes = (address: string): Buffer => {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number))
  const [head = "", tail] = address.split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail ?? "")]
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex")
}

const record = (code: number, address: string): Buffer => {
  const bytes = addressBytes(address)
  const fixed = Buffer.alloc(12)
  fixed.writeUInt16BE(POINTER_TO_QUESTION, 0)
  fixed.writeUInt16BE(code, 2)
  fixed.writeUInt16BE(1, 4)
  fixed.writeUInt32BE(0, 6)
  fixed.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([fixed, bytes])
}

const respond = (query: Buffer, question: Buffer, code: number, answer: Exclude<NameAnswer, "silence">) => {
  const records = typeof answer === "string" ? [] : answer.map((address) => record(code, address))
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(query.readUInt16BE(0), 0)
  header.writeUInt16BE(RESPONSE_RECURSIVE | (typeof answer === "string" ? CODES[answer] : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question, ...records])
}

/** A name server on loopback, over UDP (RFC 1035), that answers every question as it is told to at that moment. */
export const nameServer = (
  answerTo: (question: { readonly name: string; readonly type: RecordType }) => NameAnswer
): Effect.Effect<NameServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<NameServer & { readonly socket: Socket }>((resume) => {
      const socket = createSocket("udp4")
      const questions: NameServer["questions"] = []
      socket.on("message", (query, from) => {
        const { name, code, bytes } = readQuestion(query)
        const type = TYPES[code]
        if (type === undefined) return
        questions.push({ name, type })
        const answer = answerTo({ name, type })
        if (answer !== "silence") socket.send(respond(query, bytes, code, answer), from.port, from.address)
      })
      socket.bind(0, "127.0.0.1", () =>
        resume(Effect.succeed({ address: `127.0.0.1:${socket.address().port}`, questions, socket }))
      )
    }),
    ({ socket }) => Effect.callback<void>((resume) => void socket.close(() => resume(Effect.void)))
  )
