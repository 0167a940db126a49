import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { type LoadQuery, MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { sharedStoreContract, storeContract } from "@svc/testkit/StoreContract"
import { claimOf, createdChange, newDigest } from "@svc/testkit/StoreFixtures"
import { newPlace, storeNow } from "@svc/testkit/store-contract/StoreUnderTest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { preparedPglite, preparedStore } from "../test/PreparedPglite.ts"
import { mayShare } from "./append/AppendLanes.ts"
import { makeAppend } from "./append/PostgresAppend.ts"
import { makeAppendGroup } from "./append/PostgresAppendGroup.ts"
import { writeChange } from "./append/WrittenChange.ts"
import { CallTimeout } from "./connection/StoreFault.ts"
import * as PgliteStore from "./PgliteStore.ts"
import { portsWith } from "./PostgresStore.ts"
import type { FolderLost } from "./pglite/FolderLock.ts"

/** On a busy machine, statements that wait for the one session may wait for long. */
const patient = Layer.succeed(CallTimeout, "2 minutes")

storeContract("PgliteStore", () => Layer.merge(preparedStore, patient), { clock: "live" })

/** More than are read each by its own. */
const OTHERS = 6

/** Reads one beside others that are sent before it, so that it goes through the statement for many. */
const crowded =
  <Query, A, E>(read: (query: Query) => Effect.Effect<A, E>, otherThan: (query: Query) => Query) =>
  (query: Query): Effect.Effect<A, E> =>
    Effect.map(
      Effect.all([...Array.from({ length: OTHERS }, () => otherThan(query)), query].map(read), {
        concurrency: "unbounded"
      }),
      (answers) => answers.at(-1)!
    )

/** Sends even what comes by itself through the statements for many, if it may go there. */
const alwaysTogether = Layer.effectContext(
  Effect.map(
    Effect.flatMap(preparedPglite, (folder) => PgliteStore.connect({ folder })),
    (clients) => {
      const alone = makeAppend(clients)
      const together = makeAppendGroup(clients)
      const append: MandateStore["Service"]["append"] = (change) =>
        mayShare(change)
          ? Effect.flatMap(together([writeChange(change)]), ([outcome]) =>
              outcome === undefined || outcome === "alone" ? alone(change) : outcome
            )
          : alone(change)
      const ports = portsWith(clients, append)
      const store = Context.get(ports, MandateStore)
      const organizations = Context.get(ports, Organizations)
      const nothingIn = ({ organization = "none" }: LoadQuery): LoadQuery => ({
        organization,
        stream: { mandate: "none" }
      })
      return ports.pipe(
        Context.add(MandateStore, {
          ...store,
          load: crowded(store.load, nothingIn)
        }),
        Context.add(Organizations, {
          ...organizations,
          findApiKey: crowded(organizations.findApiKey, () => "none")
        })
      )
    }
  )
).pipe(Layer.provide(Reactivity.layer))

sharedStoreContract("Shared statements on PGlite", () => Layer.merge(alwaysTogether, patient))

const KEY = { publicJwk: { kid: "kept" }, sealed: "sealed" } as unknown as Parameters<
  SigningKeyRecords["Service"]["addFirst"]
>[0]

const recordsIn = (options: PgliteStore.PgliteOptions) =>
  Effect.map(Layer.build(Layer.fresh(PgliteStore.layer(options))), (ports) =>
    Context.get(ports, SigningKeyRecords)
  )

const kidsIn = (records: SigningKeyRecords["Service"]) =>
  Effect.map(records.list, ({ keys }) => keys.map(({ publicJwk }) => publicJwk.kid))

const TIMEOUT = { timeout: 120_000 }

/** Files that others could write if they came into the folder. */
const writableIn = (folder: string): ReadonlyArray<string> =>
  (readdirSync(folder, { recursive: true }) as Array<string>).filter(
    (name) => (statSync(join(folder, name)).mode & 0o022) !== 0
  )

describe("a database in a folder", () => {
  it.live(
    "is open to its user alone, where the folder and what is in it were open to all",
    () =>
      Effect.gen(function* () {
        const folder = yield* preparedPglite
        chmodSync(folder, 0o777)
        chmodSync(join(folder, "base"), 0o777)
        chmodSync(join(folder, "PG_VERSION"), 0o666)
        assert.isNotEmpty(writableIn(folder))
        yield* Effect.scoped(PgliteStore.connect({ folder })).pipe(Effect.provide(Reactivity.layer))
        assert.include(readdirSync(folder), "PG_VERSION")
        assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
        assert.deepStrictEqual(writableIn(folder), [])
      }),
    TIMEOUT
  )

  it.live(
    "opens as an earlier release left it, with its lock beside the folder",
    () =>
      Effect.gen(function* () {
        const folder = yield* preparedPglite
        yield* Effect.promise(async () => {
          const earlier = await PGlite.create({ dataDir: folder })
          await earlier.exec(
            "create table kept (note text); insert into kept values ('of the release before')"
          )
          await earlier.close()
        })
        // Unreadable is as good as nobody's.
        writeFileSync(`${folder}.lock`, "{}")
        const rows = yield* Effect.scoped(
          Effect.flatMap(PgliteStore.connect({ folder }), ({ reads }) =>
            reads.unsafe<{ readonly note: string }>("select note from public.kept")
          )
        ).pipe(Effect.provide(Reactivity.layer))
        assert.deepStrictEqual(rows, [{ note: "of the release before" }])
      }),
    TIMEOUT
  )

  it.live(
    "is neither read nor written once another process has the folder, and reports that",
    () =>
      Effect.gen(function* () {
        const folder = yield* preparedPglite
        const lock = join(folder, "svc.lock")
        const told = yield* Deferred.make<FolderLost>()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const records = yield* recordsIn({ folder, onLost: (lost) => Deferred.succeed(told, lost) })
            yield* records.addFirst(KEY)
            const own = readFileSync(lock, "utf8")
            rmSync(lock)
            writeFileSync(lock, JSON.stringify({ ...JSON.parse(own), token: "another" }))
            assert.strictEqual((yield* Effect.flip(records.list))._tag, "StoreUnavailable")
            assert.strictEqual((yield* Effect.flip(records.forgetBefore("kept")))._tag, "StoreUnavailable")
            assert.strictEqual((yield* Deferred.await(told)).lock, lock)
            // Taken back or not: what it has in memory may not be what is in the files.
            writeFileSync(lock, own)
            assert.strictEqual((yield* Effect.flip(records.list))._tag, "StoreUnavailable")
          })
        )
        assert.deepStrictEqual(yield* kidsIn(yield* recordsIn({ folder })), ["kept"])
      }),
    TIMEOUT
  )
})

it.live(
  "a database that is closed, or closes while a statement is under way, is unavailable to those who are not interrupted",
  () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ports = yield* Layer.buildWithScope(PgliteStore.layer({ folder: yield* preparedPglite }), scope)
      const store = Context.get(ports, MandateStore)
      const now = yield* Effect.provide(storeNow, ports)
      const expiring = () =>
        createdChange(newPlace(), now, {
          claims: [claimOf("assertion", newDigest(), { expiresAt: now + NANOS_PER_SECOND * 60n })]
        })
      const begin = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.forkDetach(effect, { startImmediately: true })
      const interrupted = yield* begin(store.append(expiring()))
      yield* Fiber.interrupt(interrupted)
      const underWay = yield* Effect.replicateEffect(
        Effect.suspend(() => begin(store.append(expiring()))),
        8
      )
      yield* Scope.close(scope, Exit.void)
      const exits = yield* Effect.forEach(underWay, Fiber.await)
      const nameOf = (exit: Exit.Exit<unknown, unknown>) =>
        Exit.isSuccess(exit) ? "Success" : String(exit.cause).match(/StoreUnavailable|Interrupt/u)?.[0]
      assert.strictEqual(nameOf(yield* Fiber.await(interrupted)), "Interrupt")
      assert.include(exits.map(nameOf), "StoreUnavailable")
      assert.notInclude(exits.map(nameOf), "Interrupt")
      for (const call of [
        Effect.asVoid(store.append(expiring())),
        Effect.asVoid(store.append(createdChange(newPlace(), now))),
        Effect.asVoid(store.append(createdChange(newPlace(), now))),
        Effect.asVoid(store.load(newPlace()))
      ]) {
        assert.strictEqual(nameOf(yield* Effect.exit(call)), "StoreUnavailable")
      }
    }),
  TIMEOUT
)
