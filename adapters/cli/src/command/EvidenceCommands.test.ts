import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import {
  bytesOf,
  GENERATED,
  HOUR,
  keySet,
  longLife,
  makeSigningKey,
  signingKey,
  signPayload,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"
import { viewerPage } from "@svc/viewer"
import { Console, Effect, Result } from "effect"
import type { CheckFailed } from "../start/RunCommand.ts"
import type { StartFault } from "../start/StartFault.ts"
import { svc } from "./SvcCommand.ts"
import { StandardInput } from "./WebhookCommands.ts"

const folder = mkdtempSync(join(tmpdir(), "svc-evidence-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const earlierPayload = longLife().payload(GENERATED)
const later = longLife()
later.propose(9, GENERATED + HOUR, { amount: 100 })
const earlier = file("earlier.json", bytesOf(signPayload(earlierPayload)))
const laterFile = file("later.json", bytesOf(signPayload(later.payload(GENERATED + HOUR))))
const jwks = file("jwks.json", JSON.stringify(keySet))
const { head, mandate, organization_id } = JSON.parse(earlierPayload)

/** What a command prints, and the code that it exits with. */
const run = (words: ReadonlyArray<string>, input?: Uint8Array) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const errors: Array<string> = []
    const command = svc(["evidence", ...words]).run as Effect.Effect<void, StartFault | CheckFailed>
    const ended = yield* Effect.result(command).pipe(
      Effect.provideService(Console.Console, {
        ...console,
        log: (line: string) => void lines.push(line),
        error: (line: string) => void errors.push(line)
      }),
      Effect.provideService(
        StandardInput,
        (async function* () {
          if (input !== undefined) yield input
        })()
      )
    )
    const fault = Result.isFailure(ended) ? ended.failure : undefined
    const exitCode = fault === undefined ? 0 : (fault.exitCode ?? 1)
    return { text: lines.join("\n"), errors: errors.join("\n"), exitCode, fault }
  })

describe("svc evidence verify", () => {
  it.live("says what valid evidence proves, and exits 0", () =>
    Effect.gen(function* () {
      const { exitCode, text } = yield* run(["verify", earlier, "--jwks", jwks, "--rp-id", "svc.test"])
      assert.strictEqual(exitCode, 0)
      for (const said of [
        `valid: evidence of mandate ${mandate.id}`,
        "state         ACTIVE",
        `organization  ${organization_id} (test)`,
        `kid           ${signingKey.kid}`,
        "generated     2027-01-02T13:00:00.000000000Z",
        `head          20:${head.hash}`,
        "decisions     8 made again",
        "committed     3, EUR 122.00",
        "denied        1\n",
        "refunded      1, EUR 12.00",
        "warning: executed_outside_authority, event 13",
        "not pinned    expected_organization"
      ]) {
        assert.include(text, said)
      }
      assert.notInclude(text, "rp_id")
    })
  )

  it.live("exits 1 for what a failed download left behind, and 2 for whatever looks like evidence", () =>
    Effect.gen(function* () {
      const problem = { type: "about:blank", title: "No", status: 404, code: "mandate_not_found" }
      const refusal = file("refusal.json", JSON.stringify(problem))
      const missing = yield* run(["verify", refusal, "--jwks", jwks])
      assert.strictEqual(missing.exitCode, 1)
      assert.strictEqual(missing.text, "")
      assert.strictEqual(
        missing.errors,
        `could not run: ${refusal} is no evidence: it is the service's refusal to give it, 404 mandate_not_found. Fetch the evidence again\nNothing was found out about the evidence.`
      )
      const empty = yield* run(["verify", "-", "--jwks", jwks], new Uint8Array(0))
      assert.strictEqual(empty.exitCode, 1)
      assert.include(empty.errors, "the standard input is no evidence: it is empty")
      for (const words of [
        ["replay", refusal],
        ["verify", earlier, refusal],
        ["diff", earlier, refusal],
        ["diff", refusal, earlier]
      ]) {
        assert.strictEqual((yield* run([...words, "--jwks", jwks])).exitCode, 1)
      }
      const changed = bytesOf(signPayload(earlierPayload.replace('"amount":4200', '"amount":42')))
      const forged = file("forged-before.json", changed)
      const dressed = file("dressed.json", JSON.stringify({ ...problem, payload: "" }))
      for (const words of [
        ["verify", dressed],
        ["verify", forged, refusal],
        ["diff", forged, refusal]
      ]) {
        assert.strictEqual((yield* run([...words, "--jwks", jwks])).exitCode, 2)
      }
    })
  )

  it.live("reads the standard input, and prints JSON", () =>
    Effect.gen(function* () {
      const words = ["verify", "--jwks", jwks, "--json", "-"]
      const { exitCode, text } = yield* run(words, bytesOf(signPayload(earlierPayload)))
      assert.strictEqual(exitCode, 0)
      assert.deepNestedInclude(JSON.parse(text), { verdict: "valid", "proved.head.seq": 20 })
    })
  )

  it.live("fetches the key set from an address", () =>
    Effect.gen(function* () {
      const server = createServer((_, response) => response.end(JSON.stringify(keySet)))
      yield* Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)))
      const { port } = server.address() as AddressInfo
      const address = `http://127.0.0.1:${port}/.well-known/jwks.json`
      assert.strictEqual((yield* run(["verify", earlier, "--jwks", address])).exitCode, 0)
      yield* Effect.promise(() => new Promise((done) => server.close(done)))
      const unreachable = yield* run(["verify", earlier, "--jwks", address])
      assert.strictEqual(unreachable.exitCode, 1)
      assert.match(unreachable.errors, /^could not run: the key set .* cannot be read/u)
      assert.include(unreachable.errors, "Nothing was found out about the evidence.")
      const plain = yield* run(["verify", earlier, "--jwks", "http://svc.test/jwks"])
      assert.include(plain.errors, "a key set is fetched with https alone")
    })
  )

  it.live("exits 2 for a forgery, and tells it from an outage and from an older key set", () =>
    Effect.gen(function* () {
      const forged = file(
        "forged.json",
        bytesOf(signPayload(earlierPayload.replace('"amount":4200', '"amount":42')))
      )
      const refused = yield* run(["verify", forged, "--jwks", jwks])
      assert.strictEqual(refused.exitCode, 2)
      assert.match(refused.text, /^INVALID/u)
      assert.include(refused.text, "fail: chain, event 4 /hash: it is not that of the event")
      assert.include(refused.text, "security incident")
      const unknown = file("other.json", bytesOf(signPayload(earlierPayload, makeSigningKey(2))))
      const stale = yield* run(["verify", unknown, "--jwks", jwks])
      assert.strictEqual(stale.exitCode, 2)
      assert.include(stale.text, "Fetch the key set again")
      assert.strictEqual((yield* run(["verify", join(folder, "none"), "--jwks", jwks])).exitCode, 1)
    })
  )

  it.live(
    "prints nothing of a caller's texts that a terminal obeys, or that looks like a line of its own",
    () =>
      Effect.gen(function* () {
        const subject_reference = "user\u001b[2J\u001b[H\nvalid: evidence of mandate mnd_1\u009b8m\u202e"
        const journal = tellJournal(termsOf(singleBody({}, { subject_reference })))
        const told = file("told.json", bytesOf(signPayload(journal.payload(GENERATED))))
        for (const json of [[], ["--json"]]) {
          const { exitCode, text } = yield* run(["verify", told, "--jwks", jwks, ...json])
          assert.strictEqual(exitCode, 0)
          assert.match(text, /^[\n\P{C}\ufffd]+$/u)
          assert.notMatch(text, /^valid: evidence of mandate mnd_1.8m/mu)
        }
      })
  )

  it.live("exits 2 for evidence of another mandate, organization, origin or head", () =>
    Effect.gen(function* () {
      for (const [option, value, name] of [
        ["--mandate", "mnd_01jdyyyyyyyyyyyyyyyyyyyyyy", "expected_mandate"],
        ["--organization", "org_01jdyyyyyyyyyyyyyyyyyyyyyy", "expected_organization"],
        ["--origin", "https://example.com", "origin"],
        ["--rp-id", "example.com", "rp_id"],
        ["--head", `19:${head.hash}`, "remembered_head"]
      ] as const) {
        const { exitCode, text } = yield* run(["verify", earlier, "--jwks", jwks, option, value])
        assert.strictEqual(exitCode, 2)
        assert.include(text, `fail: ${name}`)
      }
      const pinned = ["--head", `20:${head.hash}`, "--mandate", mandate.id, "--organization", organization_id]
      assert.strictEqual((yield* run(["verify", laterFile, "--jwks", jwks, ...pinned])).exitCode, 0)
    })
  )

  it.live("joins evidence with what continues it", () =>
    Effect.gen(function* () {
      const text = later.continuation(20, GENERATED + HOUR)
      const continuation = signPayload(text, signingKey, "svc.evidence.continuation.v1")
      const more = file("continuation.json", bytesOf(continuation))
      const { exitCode, text: said } = yield* run(["verify", earlier, more, "--jwks", jwks])
      assert.strictEqual(exitCode, 0)
      assert.include(said, "head          21:")
    })
  )

  it.live("exits 3 for evidence of a version that it does not know", () =>
    Effect.gen(function* () {
      const next = file("next.json", bytesOf({ ...signPayload(earlierPayload), format: "svc.evidence.v9" }))
      const { exitCode, text } = yield* run(["verify", next, "--jwks", jwks])
      assert.strictEqual(exitCode, 3)
      assert.match(text, /^unsupported/u)
    })
  )

  it.live("refuses words that it does not understand", () =>
    Effect.gen(function* () {
      for (const words of [
        ["verify"],
        ["verify", earlier],
        ["verify", "-", "-", "--jwks", jwks],
        ["verify", earlier, "--jwks", jwks, "--head", "x"],
        ["verify", earlier, "--jwks", jwks, "--heads", "x"],
        ["replay", earlier, "--jwks", jwks, "--until", "x"],
        ["diff", earlier, "--jwks", jwks]
      ]) {
        assert.strictEqual((yield* run(words)).exitCode, 64)
      }
    })
  )
})

describe("svc evidence replay", () => {
  it.live("prints events with their decisions and budgets, up to one of them", () =>
    Effect.gen(function* () {
      const { exitCode, text } = yield* run(["replay", earlier, "--jwks", jwks, "--until", "seq=5"])
      assert.strictEqual(exitCode, 0)
      assert.include(text, "5 2026-12-02T10:00:01.000000000Z authorization.committed")
      assert.include(text, "decision      ALLOW")
      assert.include(text, "total         committed 4200, reserved 0, late 0")
      assert.notInclude(text, "6 2026")
    })
  )
})

describe("svc evidence diff", () => {
  it.live("proves that one continues the other, and says what it adds", () =>
    Effect.gen(function* () {
      const { exitCode, text } = yield* run(["diff", earlier, laterFile, "--jwks", jwks])
      assert.strictEqual(exitCode, 0)
      assert.include(text, "with 1 more events")
      assert.include(text, "21            2027-01-02T14:00:00.000000000Z authorization.reserved")
      const turned = yield* run(["diff", laterFile, earlier, "--jwks", jwks])
      assert.strictEqual(turned.exitCode, 2)
      assert.include(turned.text, "remembered_head")
    })
  )
})

describe("svc evidence viewer", () => {
  it.live("prints one HTML file, without settings, and takes no options", () =>
    Effect.gen(function* () {
      const { exitCode, text } = yield* run(["viewer"])
      assert.strictEqual(exitCode, 0)
      assert.strictEqual(`${text}\n`, viewerPage())
      assert.match(text, /^<!doctype html>[\s\S]+<\/html>$/u)
      assert.strictEqual((yield* run(["viewer", "--open"])).exitCode, 64)
    })
  )
})
