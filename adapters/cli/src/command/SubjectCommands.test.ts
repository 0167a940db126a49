import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { Randomness } from "@svc/domain/ports/Randomness"
import type { Signer } from "@svc/domain/ports/Signer"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { preparedStore } from "@svc/store-postgres/test/PreparedPglite"
import { cancelReport, harnessOrganization, makeCaller, proposalBody } from "@svc/testkit/ProgramHarness"
import { DAY, followingChange, newIdentifier, newPasskey, newSubject } from "@svc/testkit/StoreFixtures"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { besideStore, monthlyBody } from "../../test/SampleData.ts"
import type { ArchivePlace } from "../archive/ArchivePlace.ts"
import { folderArchive } from "../archive/FolderArchive.ts"
import { signerOf } from "./ArchiveCommands.ts"
import { runStoreCommand } from "./StoreCommand.ts"
import { eraseSubject, subjectCommands } from "./SubjectCommands.ts"

const MASTER_KEY = "A".repeat(43)
const SUBJECT = "user_8f2"

const newCaller = Effect.gen(function* () {
  const organization = harnessOrganization({ id: newIdentifier("org_") })
  yield* (yield* Organizations).put(organization)
  return makeCaller(organization)
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-erase-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true }))
)

const created = (caller: ReturnType<typeof makeCaller>, subject = SUBJECT) =>
  Effect.map(caller.create({ ...monthlyBody(), subject_reference: subject }), ({ resource }) => resource.id)

/** Gives the subject two passkeys. */
const enrol = Effect.fnUntraced(function* (organization: string, mandate: string) {
  const store = yield* MandateStore
  const { now, stream } = yield* store.load({ organization, stream: { mandate } })
  const next = newSubject({ passkeys: [newPasskey(), newPasskey()] })
  yield* store.append(
    followingChange({ now, stream: stream! }, [], {
      subject: { reference: SUBJECT, expected: "absent", next }
    })
  )
})

/** The end user's mandates: one live, one ended, and one ended whose reservation is open. Another's stays. */
const sample = Effect.gen(function* () {
  const caller = yield* newCaller
  const [ended, live, open] = [yield* created(caller), yield* created(caller), yield* created(caller)]
  const others = yield* created(caller, "user_other")
  yield* enrol(caller.organization.id, live)
  yield* caller.approve(open)
  const { resource: authorization } = yield* caller.propose(open, proposalBody(1))
  for (const mandate of [ended, open]) yield* caller.revoke(mandate)
  return { caller, ended, live, open, others, authorization: authorization.id }
})

const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const context = yield* Effect.context<PostgresPorts>()
  return yield* runStoreCommand(subjectCommands[0]!, words, Effect.provideContext(context)).pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: { SVC_MASTER_KEY: MASTER_KEY } })
    )
  )
})

const activePasskeys = (organization: string) =>
  Effect.map(
    Effect.flatMap(SubjectStore, (subjects) => subjects.load({ organization, subjectReference: SUBJECT })),
    ({ subject }) => subject?.passkeys.filter(({ retiredAt }) => retiredAt === undefined).length
  )

const signer = signerOf({ current: Redacted.make(new Uint8Array(32)), previous: undefined })
const store = Layer.orDie(Layer.provideMerge(signer, preparedStore))

layer(Layer.merge(store, besideStore), { excludeTestServices: true, timeout: "120 seconds" })(
  "svc subject erase",
  (it) => {
    it.effect("says what there is and changes nothing, until it is told to", () =>
      Effect.gen(function* () {
        const { caller, ended, live, open } = yield* sample
        const organization = caller.organization.id
        const said = yield* run(["--organization", organization, "--subject", SUBJECT])
        assert.deepStrictEqual(said, {
          would_revoke: [live],
          would_retire_passkeys: 2,
          would_archive_and_remove: [],
          left: [
            { mandate: live, state: "REVOKED", because: "ended_recently" },
            { mandate: open, state: "REVOKED", because: "open" },
            { mandate: ended, state: "REVOKED", because: "ended_recently" }
          ],
          passkeys_on_record: 2
        })
        assert.strictEqual((yield* caller.read(live)).state, "PENDING_APPROVAL")
        assert.strictEqual(yield* activePasskeys(organization), 2)
      })
    )

    it.effect("says beforehand what it leaves of a live mandate, as it then does", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const live = yield* created(caller)
        yield* caller.approve(live)
        yield* caller.propose(live, proposalBody(1))
        const words = ["--organization", caller.organization.id, "--subject", SUBJECT]
        const left = [{ mandate: live, state: "REVOKED", because: "open" }]
        assert.deepInclude(yield* run(words), { would_revoke: [live], left })
        assert.deepInclude(yield* run([...words, "--to", yield* folder, "--yes"]), { revoked: [live], left })
      })
    )

    it.effect("says that nothing is on record under a reference that nobody has", () =>
      Effect.gen(function* () {
        const { caller } = yield* sample
        const words = ["--organization", caller.organization.id, "--subject"]
        const note = /^nothing is on record under this reference in this organization/u
        for (const options of [[], ["--to", yield* folder, "--yes"]]) {
          const said = yield* run([...words, "user_8f3", ...options])
          assert.match(String((said as { readonly note?: string }).note), note)
        }
        assert.notProperty(yield* run([...words, SUBJECT]), "note")
      })
    )

    it.effect(
      "ends what is live and retires the passkeys at once, and removes what has ended for a day later",
      () =>
        Effect.gen(function* () {
          const { caller, ended, live, others } = yield* sample
          const organization = caller.organization.id
          const place = join(yield* folder, "erasure")
          const words = ["--organization", organization, "--subject", SUBJECT, "--to", place, "--yes"]
          const erased = yield* run(words)
          assert.deepInclude(erased, {
            revoked: [live],
            passkeys_retired: 2,
            archived: 0,
            removed: 0,
            passkeys_on_record: 2
          })
          assert.strictEqual((yield* caller.read(live)).state, "REVOKED")
          assert.strictEqual((yield* caller.read(others)).state, "PENDING_APPROVAL")
          assert.strictEqual(yield* activePasskeys(organization), 0)
          assert.strictEqual((yield* caller.read(ended)).state, "REVOKED")
          assert.isFalse(existsSync(place))
          const [logged] = yield* (yield* OperatorLog).latest(organization, 1)
          assert.deepInclude(logged, { command: "subject erase" })
        })
    )

    it.effect(
      "archives and removes what has ended long enough, and leaves what is open until it is closed",
      () =>
        Effect.gen(function* () {
          const { authorization, caller, ended, live, open, others } = yield* sample
          const organization = caller.organization.id
          const root = yield* folder
          const erase = Effect.gen(function* () {
            const { now } = yield* (yield* MandateStore).load({ organization })
            return yield* eraseSubject(folderArchive(root), {
              organization: caller.organization,
              subjectReference: SUBJECT,
              endedBefore: now + DAY
            })
          })
          const first = yield* erase
          assert.deepInclude(first, { revoked: [live], archived: 2, removed: 2, kept: [], failed: [] })
          assert.deepStrictEqual(first.left, [{ mandate: open, state: "REVOKED", because: "open" }])
          assert.deepStrictEqual(readdirSync(join(root, organization)).sort(), [ended, live].sort())
          for (const mandate of [ended, live])
            assert.strictEqual((yield* Effect.flip(caller.read(mandate)))._tag, "NotFound")

          yield* caller.cancel(authorization, cancelReport())
          // It is to go now. Its sample approval proves nothing, so its evidence does not verify, and it stays.
          const second = yield* erase
          assert.deepInclude(second, { revoked: [], passkeys_retired: 0, removed: 0, left: [] })
          assert.deepStrictEqual(
            second.failed.map(({ mandate }) => mandate),
            [open]
          )
          assert.isTrue(subjectCommands[0]!.isFailure!(second))
          assert.strictEqual((yield* caller.read(open)).state, "REVOKED")
          assert.strictEqual((yield* caller.read(others)).state, "PENDING_APPROVAL")
        })
    )

    it.effect(
      "goes on where another run removes a mandate that it is at, which is no fault of the archive",
      () =>
        Effect.gen(function* () {
          const caller = yield* newCaller
          const mandates = [yield* created(caller), yield* created(caller)]
          for (const mandate of mandates) yield* caller.revoke(mandate)
          const [root, others] = [yield* folder, yield* folder]
          const { now } = yield* (yield* MandateStore).load({ organization: caller.organization.id })
          const erasing = {
            organization: caller.organization,
            subjectReference: SUBJECT,
            endedBefore: now + DAY
          }
          const context = yield* Effect.context<PostgresPorts | Signer | Randomness>()
          const other = yield* Effect.cached(
            Effect.provideContext(eraseSubject(folderArchive(others), erasing), context)
          )
          const place = folderArchive(root)
          const late: ArchivePlace = {
            ...place,
            read: (name) => Effect.andThen(Effect.orDie(other), place.read(name))
          }
          const erased = yield* eraseSubject(late, erasing)
          assert.deepInclude(yield* other, { removed: 2, failed: [] })
          assert.deepInclude(erased, { archived: 0, removed: 0, kept: [], failed: [], left: [] })
        })
    )

    it.effect("revokes a mandate whatever idempotency keys of the organization are taken", () =>
      Effect.gen(function* () {
        const caller = yield* newCaller
        const live = yield* created(caller)
        yield* caller.create({ ...monthlyBody(), subject_reference: "user_other" }, `svc-erase-${live}`)
        const words = ["--organization", caller.organization.id, "--subject", SUBJECT, "--to", yield* folder]
        assert.deepInclude(yield* run([...words, "--yes"]), { revoked: [live] })
      })
    )

    it.effect("refuses what it cannot do", () =>
      Effect.gen(function* () {
        const { organization } = yield* newCaller
        const subject = ["--organization", organization.id, "--subject", SUBJECT]
        for (const [words, fault] of [
          [["--organization", organization.id], /--subject is missing/u],
          [["--subject", SUBJECT], /--organization is missing/u],
          [[...subject, "--yes"], /--to is missing/u],
          [[...subject, "--older-than", "0"], /--older-than must be/u],
          [["--organization", newIdentifier("org_"), "--subject", SUBJECT], /names none of the store/u]
        ] as const)
          assert.match((yield* Effect.flip(run(words))).line, fault)
      })
    )
  }
)
