import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { formatInstant } from "@svc/protocol/Timestamp"
import { generateSigningKey, signingKey } from "@svc/signer/SignerNodeCrypto"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { type Caller, harnessOrganization, makeCaller } from "@svc/testkit/ProgramHarness"
import { DAY, newIdentifier } from "@svc/testkit/StoreFixtures"
import { verifyEvidence } from "@svc/verifier"
import { Clock, ConfigProvider, Console, Effect, Fiber, Layer, Redacted } from "effect"
import { CREDENTIALS, REGION, startFakeBucket } from "../../test/FakeBucket.ts"
import { besideStore, makeEndpoint, monthlyBody } from "../../test/SampleData.ts"
import type { ArchivePlace } from "../archive/ArchivePlace.ts"
import { bucketArchive, parseBucket } from "../archive/BucketArchive.ts"
import { folderArchive } from "../archive/FolderArchive.ts"
import { StartFault } from "../start/StartFault.ts"
import { archiveCommands, archiveEnded, signerOf } from "./ArchiveCommands.ts"
import { Confirmation } from "./Confirmation.ts"
import { purgeCommands } from "./PurgeCommand.ts"
import { runStoreCommand } from "./StoreCommand.ts"
import { tailEvents } from "./TailCommand.ts"

const MASTER_KEY = "A".repeat(43)

const newCaller = Effect.gen(function* () {
  const organization = harnessOrganization({ id: newIdentifier("org_") })
  yield* (yield* Organizations).put(organization)
  return makeCaller(organization)
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-archive-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true }))
)

/** A mandate that was revoked before anyone approved it. */
const revoked = (caller: Caller) =>
  Effect.gen(function* () {
    const { resource } = yield* caller.create(monthlyBody())
    yield* caller.revoke(resource.id)
    return resource.id
  })

/** Archives what has ended by now. */
const archive = Effect.fnUntraced(function* (
  caller: Caller,
  place: ArchivePlace,
  isDeleting: boolean,
  limit = 10
) {
  const organization = caller.organization.id
  const { now } = yield* (yield* MandateStore).load({ organization })
  return yield* archiveEnded(place, { organization, endedBefore: now, isDeleting, limit })
})

const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const all = [...archiveCommands, ...purgeCommands]
  const command = all.find(({ name }) => `${words.join(" ")} `.startsWith(`${name} `))!
  const context = yield* Effect.context<PostgresPorts>()
  return yield* runStoreCommand(command, words.slice(2), Effect.provideContext(context)).pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: { SVC_MASTER_KEY: MASTER_KEY } })
    )
  )
})

const faultOf = (...words: ReadonlyArray<string>) =>
  Effect.map(Effect.flip(run(words)), ({ exitCode, line }) => [exitCode, line] as const)

const signer = signerOf({
  current: Redacted.make(new Uint8Array(Buffer.from(MASTER_KEY, "base64url"))),
  previous: undefined
})

const store = Layer.orDie(Layer.provideMerge(signer, preparedStore))

layer(Layer.merge(store, besideStore), { excludeTestServices: true, timeout: "120 seconds" })(
  "svc mandate archive",
  (it) => {
    it.effect("writes evidence that verifies, for its user alone, and leaves what is there", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const root = join(yield* folder, "new", "archive")
        const mandate = yield* revoked(caller)
        yield* caller.create(monthlyBody())
        const first = yield* archive(caller, folderArchive(root), false)
        assert.deepInclude(first, { archived: 1, archived_before: 0, removed: 0, has_more: false })
        const place = join(root, caller.organization.id, mandate)
        assert.deepStrictEqual(readdirSync(place).sort(), [
          "2.evidence.json",
          "2.jwks.json",
          "2.manifest.json"
        ])
        for (const name of readdirSync(place))
          assert.strictEqual(statSync(join(place, name)).mode & 0o777, 0o600)
        const manifest = JSON.parse(readFileSync(join(place, "2.manifest.json"), "utf8"))
        assert.deepInclude(manifest, { mandate_id: mandate, state: "REVOKED", events: 2 })
        const written = readFileSync(join(place, "2.evidence.json"))
        const again = yield* archive(caller, folderArchive(root), false)
        assert.deepInclude(again, { archived: 0, archived_before: 1 })
        assert.deepStrictEqual(readFileSync(join(place, "2.evidence.json")), written)
        assert.strictEqual((yield* caller.read(mandate)).state, "REVOKED")
        // What is there already does not use up the limit.
        yield* Effect.replicateEffect(revoked(caller), 2)
        const next = yield* archive(caller, folderArchive(root), false, 1)
        assert.deepInclude(next, { archived: 1, archived_before: 1, has_more: true })
        const rest = yield* archive(caller, folderArchive(root), false, 1)
        assert.deepInclude(rest, { archived: 1, archived_before: 2, has_more: false })
      })
    )

    it.effect("completes what was cut off, and removes rows only after that", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const root = yield* folder
        const mandate = yield* revoked(caller)
        const sound = folderArchive(root)
        const steps = ["evidence", "jwks", "manifest"]
        for (const step of steps) {
          const cut: ArchivePlace = {
            read: sound.read,
            create: (name, content) =>
              name.includes(step)
                ? Effect.fail(new StartFault({ line: "cut off", exitCode: 75 }))
                : sound.create(name, content)
          }
          assert.strictEqual((yield* Effect.flip(archive(caller, cut, true)))._tag, "StartFault")
          assert.strictEqual((yield* caller.read(mandate)).state, "REVOKED")
        }
        assert.deepInclude(yield* archive(caller, sound, true), {
          archived: 1,
          removed: 1,
          failed: [],
          kept: []
        })
        assert.strictEqual((yield* Effect.flip(caller.read(mandate)))._tag, "NotFound")
        assert.deepInclude(yield* archive(caller, sound, true), {
          archived: 0,
          archived_before: 0,
          removed: 0
        })
      })
    )

    it.effect("removes nothing of a mandate whose archive is not its evidence", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const root = yield* folder
        const [one, other] = [yield* revoked(caller), yield* revoked(caller)]
        yield* archive(caller, folderArchive(root), false)
        const at = (mandate: string, name: string) =>
          join(root, caller.organization.id, mandate, `2.${name}.json`)
        writeFileSync(at(one, "evidence"), readFileSync(at(other, "evidence")))
        writeFileSync(at(other, "manifest"), "{}")
        const result = yield* archive(caller, folderArchive(root), true)
        assert.deepStrictEqual(
          result.failed.map(({ mandate }) => mandate),
          [one, other]
        )
        assert.match(result.failed[0]!.reason, /does not verify/u)
        assert.match(result.failed[1]!.reason, /names other files/u)
        assert.strictEqual(result.removed, 0)
        assert.strictEqual((yield* caller.read(one)).state, "REVOKED")
        assert.isTrue(archiveCommands[0]!.isFailure!(result))
      })
    )

    it.effect(
      "removes nothing of a mandate whose evidence others signed anew, with a key set of their own",
      () =>
        Effect.gen(function* () {
          const caller = yield* newCaller
          const root = yield* folder
          const mandate = yield* revoked(caller)
          yield* archive(caller, folderArchive(root), false)
          const at = (name: string) => join(root, caller.organization.id, mandate, `2.${name}.json`)
          const { begin, published } = yield* signingKey(yield* generateSigningKey)
          const { payload, ...envelope } = JSON.parse(readFileSync(at("evidence"), "utf8"))
          const header = encodeBase64Url(
            new TextEncoder().encode(JSON.stringify({ alg: "ES256", kid: published.kid }))
          )
          const signing = begin()
          signing.update(new TextEncoder().encode(`${header}.${payload}`))
          const signature = encodeBase64Url(yield* signing.signature)
          const forged = { ...envelope, protected: header, payload, signature }
          const own = { keys: [published] }
          const expected = { organization: caller.organization.id, mandate }
          const report = yield* Effect.promise(() => verifyEvidence(forged, own, expected))
          assert.strictEqual(report.verdict, "valid")
          writeFileSync(at("evidence"), JSON.stringify(forged))
          writeFileSync(at("jwks"), JSON.stringify(own))
          rmSync(at("manifest"))
          const result = yield* archive(caller, folderArchive(root), true)
          assert.deepInclude(result, { archived: 0, archived_before: 0, removed: 0 })
          assert.match(result.failed[0]!.reason, /does not verify: key/u)
          assert.strictEqual((yield* caller.read(mandate)).state, "REVOKED")
        })
    )

    it.effect("keeps a mandate whose webhooks wait, until they are given up", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const organization = caller.organization.id
        const { id: endpoint } = yield* makeEndpoint(caller.organization)
        const place = folderArchive(yield* folder)
        const mandate = yield* revoked(caller)
        const waiting = yield* archive(caller, place, true)
        assert.deepInclude(waiting, { removed: 0, kept: [{ mandate, reason: "deliveries_waiting" }] })

        const purge = ["webhook-endpoint", "purge", "--organization", organization, "--endpoint", endpoint]
        const nobody = Effect.provideService(Confirmation, undefined)
        const saying = (answer: boolean) => Effect.provideService(Confirmation, () => Effect.succeed(answer))
        const [exitCode, line] = yield* faultOf(...purge).pipe(nobody)
        assert.deepStrictEqual([exitCode, line], [64, "--yes is missing, and there is no terminal to ask at"])
        assert.deepInclude(yield* run(purge).pipe(saying(false)), { given_up: 0, waiting: 2 })
        assert.deepInclude(yield* run([...purge, "--yes"]).pipe(nobody), {
          given_up: 2,
          waiting: 0,
          under_way: 0
        })
        assert.deepInclude(yield* run(purge).pipe(saying(true)), { given_up: 0 })
        const unknown = [...purge.slice(0, -1), "whe_unknown", "--yes"]
        assert.match((yield* faultOf(...unknown))[1], /no endpoint/u)
        assert.deepInclude(yield* archive(caller, place, true), { archived_before: 1, removed: 1 })
      })
    )

    it.effect("lists what it would archive, and refuses what it cannot do", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const mandate = yield* revoked(caller)
        const words = ["mandate", "archive", "--organization", caller.organization.id]
        const future = ["--ended-before", "2099-01-01T00:00:00Z"]
        const listed = yield* run([...words, ...future, "--to", "/nowhere", "--dry-run"])
        assert.deepInclude(listed, { would_archive: 1, has_more: false })
        assert.include(JSON.stringify(listed), mandate)
        for (const [given, fault] of [
          [["--to", "/nowhere"], /one of --ended-before and --older-than/u],
          [["--older-than", "0", "--to", "/nowhere"], /--older-than must be/u],
          [[...future, "--to", "/nowhere", "--delete"], /at least 1 day ago/u],
          [[...future, "--to", "s3://Bad_Bucket"], /--to must be s3/u],
          [[...future, "--to", "https://example.com/"], /--to must be a folder/u],
          [[...future, "--to", "s3://evidence/svc"], /AWS_ACCESS_KEY_ID is missing/u],
          [[...future], /--to is missing/u]
        ] as const) {
          assert.match((yield* faultOf(...words, ...given))[1], fault)
        }
      })
    )

    it.effect("takes the age by the clock of the store, too, where that of the machine is fast", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        yield* revoked(caller)
        const clock = yield* Clock.Clock
        const fast: Clock.Clock = Object.create(clock, {
          currentTimeNanos: { value: Effect.map(clock.currentTimeNanos, (now) => now + 3n * DAY) }
        })
        const inFuture = Effect.provideService(Clock.Clock, fast)
        const words = ["mandate", "archive", "--organization", caller.organization.id, "--to", "/nowhere"]
        const deleting = [...words, "--ended-before", formatInstant((yield* clock.currentTimeNanos) + DAY)]
        for (const given of [
          [...words, "--older-than", "1"],
          [...deleting, "--delete"]
        ]) {
          const listed = yield* run([...given, "--dry-run"]).pipe(inFuture)
          assert.deepInclude(listed, { would_archive: 0 })
        }
      })
    )

    it.effect("writes to a bucket, signed, conditionally and with digests", () =>
      Effect.gen(function* () {
        const fake = yield* Effect.acquireRelease(Effect.promise(startFakeBucket), ({ close }) =>
          Effect.promise(close)
        )
        const caller = yield* newCaller
        const mandate = yield* revoked(caller)
        const bucket = {
          ...parseBucket("s3://evidence/svc/live")!,
          endpoint: fake.endpoint,
          region: REGION,
          accessKeyId: CREDENTIALS.accessKeyId,
          secretAccessKey: Redacted.make<string>(CREDENTIALS.secretAccessKey),
          sessionToken: Redacted.make("of the session")
        }
        const wrong = bucketArchive({ ...bucket, secretAccessKey: Redacted.make("another") })
        const refused = yield* Effect.flip(archive(caller, wrong, true))
        assert.deepInclude(refused, { exitCode: 78 })
        fake.faults.push(503)
        assert.deepInclude(yield* archive(caller, bucketArchive(bucket), true), { archived: 1, removed: 1 })
        const place = `/evidence/svc/live/${caller.organization.id}/${mandate}`
        assert.deepStrictEqual(
          [...fake.objects.keys()],
          ["evidence", "jwks", "manifest"].map((name) => `${place}/2.${name}.json`)
        )
        const before = fake.objects.get(`${place}/2.jwks.json`)
        yield* bucketArchive(bucket).create(
          `${caller.organization.id}/${mandate}/2.jwks.json`,
          new Uint8Array([1])
        )
        assert.strictEqual(fake.objects.get(`${place}/2.jwks.json`), before)
        for (const text of ["s3://", "s3://a", "s3://bucket/../x", "s3://bucket/a//b", "s3://bucket/a b"])
          assert.isUndefined(parseBucket(text), text)
      })
    )

    it.effect("svc events tail prints events as they come, and the cursor to go on with", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const organization = caller.organization.id
        yield* revoked(caller)
        const lines: Array<string> = []
        const notes: Array<string> = []
        const kept: Console.Console = {
          ...console,
          log: (line: string) => lines.push(line),
          error: (line: string) => notes.push(line)
        }
        const until = (count: number) =>
          Effect.repeat(Effect.sleep("20 millis"), { until: () => lines.length >= count, times: 500 })
        const following = (parts: Partial<Parameters<typeof tailEvents>[0]>) =>
          Effect.forkChild(
            Effect.provideService(
              tailEvents({ organization, from: "start", types: [], json: false, ...parts }),
              Console.Console,
              kept
            )
          )
        const shown = yield* following({ types: ["mandate.revoked"] })
        yield* until(1)
        yield* Fiber.interrupt(shown)
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /Z {2}mandate\.revoked +mnd_/u)
        const [, cursor] = /^go on with --after (\S+)$/u.exec(notes[0]!)!

        lines.length = 0
        const mandate = yield* revoked(caller)
        const json = yield* following({ from: { after: cursor! }, json: true, mandate })
        yield* until(3)
        yield* Fiber.interrupt(json)
        const printed = lines.map((line) => JSON.parse(line))
        assert.deepStrictEqual(
          printed.slice(0, 2).map(({ type }) => type),
          ["mandate.created", "mandate.revoked"]
        )
        assert.isString(printed[2].next_cursor)
        const refused = yield* Effect.flip(
          tailEvents({ organization, from: { after: "none" }, types: [], json: true })
        )
        assert.deepInclude(refused, { exitCode: 64 })
      })
    )
  }
)
