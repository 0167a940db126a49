import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Console, type Duration, Effect, Exit, Layer, Redacted } from "effect"
import { selfSignedCertificate } from "../../test/browser/SelfSignedCertificate.ts"
import { StartPatience } from "./DatabaseConnection.ts"
import { databaseFault } from "./DatabaseFault.ts"
import type { StartFault } from "./StartFault.ts"
import { storageLayer } from "./StoreLayer.ts"

const SECRET = "s3cret"

/** What a server answers to whoever wants a session. */
const errorResponse = (code: string, message: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write("E")
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

/** Speaks as much of the protocol as a session that does not come about; gives its port. */
const opened = (onConnection: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => socket.destroy())
        onConnection(socket)
      }).listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** Answers each session in turn with the next answer, and those after the last with that one. */
const answering = (...answers: ReadonlyArray<Buffer>) => {
  let session = 0
  return opened((socket) => {
    const answer = answers[Math.min(session++, answers.length - 1)]!
    socket.once("data", () => socket.end(answer))
  })
}

/** A file with a certificate, until the scope closes. */
const certificateFile = (cert: string) =>
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-tls-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  ).pipe(
    Effect.map((folder) => {
      const file = join(folder, "ca.pem")
      writeFileSync(file, cert)
      return file
    })
  )

const faultAt = Effect.fnUntraced(function* (url: string, patience: Duration.Input = "1 millis") {
  const told: Array<string> = []
  const layer = storageLayer({ postgres: Redacted.make(url) }, { migrations: "require" })
  const exit = yield* Layer.build(layer).pipe(
    Effect.scoped,
    Effect.provideService(StartPatience, patience),
    Effect.provideService(Console.Console, { ...console, error: (line: string) => void told.push(line) }),
    Effect.flip,
    Effect.exit
  )
  assert(Exit.isSuccess(exit))
  const fault: StartFault = exit.value
  for (const line of [fault.line, ...told]) assert.notInclude(line, SECRET)
  return { fault: [fault.exitCode, fault.line] as const, told }
})

const urlOf = (port: number, rest = "/shop") => `postgres://user:${SECRET}@127.0.0.1:${port}${rest}`

const at = (port: number) => `the database shop on 127.0.0.1:${port}`

describe("a start on a Postgres server", () => {
  it.live("quotes the refusal of the server and names it", () =>
    Effect.gen(function* () {
      for (const [code, message, exitCode] of [
        ["28P01", 'password authentication failed for user "user"', 78],
        ["28000", 'role "user" does not exist', 78],
        ["3D000", 'database "shop" does not exist', 78],
        ["42501", 'permission denied for database "shop"', 78],
        ["53200", "out of memory", 75]
      ] as const) {
        const { port } = yield* answering(errorResponse(code, message))
        const { fault, told } = yield* faultAt(urlOf(port))
        assert.deepStrictEqual(fault, [exitCode, `${at(port)}: ${message}`])
        assert.deepStrictEqual(told, [])
      }
    }).pipe(Effect.scoped)
  )

  it.live("says which SQL gives a role what it lacks, and which role migrates", () =>
    Effect.gen(function* () {
      const asOwner = "; run svc migrate as the role that owns the schema"
      const grants = (role: string) =>
        `; let the role that owns the schema run: grant usage on schema svc to ${role}; grant select, insert, update, delete on all tables in schema svc to ${role}; svc migrate itself runs as the owner`
      for (const [message, remedy] of [
        ["permission denied for database shop", asOwner],
        ["must be owner of table event", asOwner],
        ["permission denied for schema svc", grants("user")],
        ["permission denied for table event", grants("user")],
        ["permission denied for language c", ""]
      ] as const) {
        const { port } = yield* answering(errorResponse("42501", message))
        const { fault } = yield* faultAt(urlOf(port))
        assert.deepStrictEqual(fault, [78, `${at(port)}: ${message}${remedy}`])
      }
      const { port } = yield* answering(errorResponse("42501", "permission denied for schema svc"))
      const named = urlOf(port).replace("user:", "Shop%20%22one%22:")
      assert.include((yield* faultAt(named)).fault[1], grants('"Shop ""one"""'))
    }).pipe(Effect.scoped)
  )

  it.live("reports a pooler that refuses the required session settings", () =>
    Effect.gen(function* () {
      const refusal = "unsupported startup parameter: default_transaction_isolation"
      const { port } = yield* answering(errorResponse("08P01", refusal))
      const { fault } = yield* faultAt(urlOf(port))
      assert.strictEqual(fault[0], 78)
      assert.match(fault[1], /synchronous_commit among them: name the server itself, not PgBouncer/u)
    }).pipe(Effect.scoped)
  )

  it.live("waits for a server that is starting up, and says so once", () =>
    Effect.gen(function* () {
      const starting = errorResponse("57P03", "the database system is starting up")
      const { port } = yield* answering(starting, starting, errorResponse("3D000", "the last answer"))
      const { fault, told } = yield* faultAt(urlOf(port), "20 seconds")
      assert.deepStrictEqual(fault, [78, `${at(port)}: the last answer`])
      assert.deepStrictEqual(told, [`${at(port)}: it is starting up or shutting down; trying for 20s`])
    }).pipe(Effect.scoped)
  )

  it.live("exits 75 and says how long it tried if nobody listens or answers", () =>
    Effect.gen(function* () {
      const gone = yield* opened(() => {})
      gone.close()
      const { fault } = yield* faultAt(urlOf(gone.port))
      const refused = `${at(gone.port)}: nothing accepts connections there; tried for 1ms`
      assert.deepStrictEqual(fault, [75, refused])
      const { port } = yield* opened(() => {})
      const silent = yield* faultAt(urlOf(port, "/shop?connect_timeout=1"))
      assert.deepStrictEqual(silent.fault, [75, `${at(port)}: it does not answer; tried for 1ms`])
      const { port: closing } = yield* opened((socket) => socket.destroy())
      assert.match((yield* faultAt(urlOf(closing))).fault[1], /it closed the connection; tried for 1ms$/u)
    }).pipe(Effect.scoped)
  )

  it.live("distinguishes a server without TLS from an untrusted certificate", () =>
    Effect.gen(function* () {
      const { port } = yield* opened((socket) => socket.on("data", () => socket.write("N")))
      for (const rest of ["?sslmode=require", "?ssl=true", "?sslrootcert=system"]) {
        const { fault } = yield* faultAt(urlOf(port, `/shop${rest}`))
        assert.deepStrictEqual(fault, [78, `${at(port)}: it offers no TLS, which sslmode asks for`])
      }
    }).pipe(Effect.scoped)
  )

  it.live("names each host of a list, and why it is not used", () =>
    Effect.gen(function* () {
      const gone = yield* opened(() => {})
      gone.close()
      const { port } = yield* answering(errorResponse("57P03", "the database system is starting up"))
      const { port: refusing } = yield* answering(errorResponse("28P01", "password authentication failed"))
      const { port: silent } = yield* opened(() => {})
      const listed = (...ports: ReadonlyArray<number>) => ports.map((one) => `127.0.0.1:${one}`)
      const urlOfAll = (ports: ReadonlyArray<number>, rest = "") =>
        `postgres://user:${SECRET}@${listed(...ports)}/shop?connect_timeout=1${rest}`
      const many = yield* faultAt(urlOfAll([gone.port, port, silent]))
      const [first, second, third] = listed(gone.port, port, silent)
      assert.deepStrictEqual(many.fault, [
        75,
        `the database shop on ${first}, ${second}, ${third}: none takes writes (${first}: nothing accepts connections there; ${second}: it is starting up or shutting down; ${third}: it does not answer); tried for 1ms`
      ])
      const one = yield* faultAt(urlOf(refusing, "/shop?target_session_attrs=primary"))
      assert.deepStrictEqual(one.fault, [
        78,
        `${at(refusing)}: none takes writes (127.0.0.1:${refusing}: password authentication failed)`
      ])
      // One that refuses the role for good does not end a start that another may still let in.
      const [told] = (yield* faultAt(urlOfAll([refusing, gone.port]), "1 second")).told
      assert.match(told!, /password authentication failed; .*trying for 1s$/u)
    }).pipe(Effect.scoped)
  )

  it.live("asks each host of a list for a certificate in its own name", () =>
    Effect.gen(function* () {
      const { cert, key } = selfSignedCertificate(["localhost"])
      const names: Array<string> = []
      const { port } = yield* opened((socket) => {
        socket.once("data", () => {
          socket.write("S")
          const secure = new TLSSocket(socket, {
            isServer: true,
            cert,
            key,
            SNICallback: (name, done) => {
              names.push(name)
              done(null)
            }
          })
          secure.on("error", () => secure.destroy())
          secure.once("data", () => secure.end(errorResponse("3D000", "seen within TLS")))
        })
      })
      const file = yield* certificateFile(cert)
      const rest = `/shop?sslrootcert=${encodeURIComponent(file)}`
      const { fault } = yield* faultAt(`postgres://user:${SECRET}@127.0.0.1:${port},localhost:${port}${rest}`)
      assert.match(fault[1], /127\.0\.0\.1:\d+: its certificate is for another host name; /u)
      assert.match(fault[1], /localhost:\d+: seen within TLS\)$/u)
      assert.deepStrictEqual(names, ["localhost"])
    }).pipe(Effect.scoped)
  )

  it.live("trusts the named root certificate alone", () =>
    Effect.gen(function* () {
      const { cert, key } = selfSignedCertificate(["localhost"])
      const { port } = yield* opened((socket) => {
        socket.once("data", () => {
          socket.write("S")
          const secure = new TLSSocket(socket, { isServer: true, cert, key })
          secure.on("error", () => secure.destroy())
          secure.once("data", () => secure.end(errorResponse("3D000", "seen within TLS")))
        })
      })
      const file = yield* certificateFile(cert)
      const place = `postgres://user:${SECRET}@localhost:${port}/shop`
      const untrusted = yield* faultAt(`${place}?sslmode=require`)
      assert.strictEqual(untrusted.fault[0], 78)
      assert.match(untrusted.fault[1], /authority that is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/u)
      for (const mode of ["", "sslmode=require&", "ssl=true&"]) {
        const trusted = yield* faultAt(`${place}?${mode}sslrootcert=${encodeURIComponent(file)}`)
        assert.deepStrictEqual(trusted.fault, [78, `the database shop on localhost:${port}: seen within TLS`])
      }
      const missing = yield* faultAt(`${place}?sslrootcert=${encodeURIComponent(`${file}.none`)}`)
      assert.strictEqual(missing.fault[0], 78)
      assert.match(missing.fault[1], /ca\.pem\.none, which SVC_STORE names as sslrootcert, cannot be read$/u)
    }).pipe(Effect.scoped)
  )
})

describe("databaseFault", () => {
  const place = { host: "::1", port: 5432, database: undefined }

  for (const [code, exitCode, words] of [
    ["ENOTFOUND", 75, "its host name cannot be resolved"],
    ["EAI_AGAIN", 75, "its host name cannot be resolved now"],
    ["EHOSTUNREACH", 75, "there is no way to its host"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", 78, "its certificate is for another host name"],
    ["CERT_HAS_EXPIRED", 78, "its certificate has expired"],
    ["EMFILE", 75, "it cannot be used (EMFILE)"]
  ] as const) {
    it(`explains ${code}`, () => {
      const { exitCode: given, line } = databaseFault(
        { cause: Object.assign(new Error("x"), { code }) },
        place
      )
      assert.deepStrictEqual([given, line], [exitCode, `the database on [::1]:5432: ${words}`])
    })
  }

  it("cuts a server's message to one short line", () => {
    const error = Object.assign(new Error(`a\nb\u001b[0m${"c".repeat(300)}`), { code: "42P01" })
    const { line } = databaseFault(error, undefined)
    assert.match(line, /^the database: a b \[0mc{190,}\.\.\.$/u)
  })
})
