import { createHash } from "node:crypto"
import type { EndedMandate } from "@svc/domain/ports/EndedMandates"
import type { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Randomness } from "@svc/domain/ports/Randomness"
import { Signer } from "@svc/domain/ports/Signer"
import { readEvidence } from "@svc/domain/programs/Evidence"
import type { KeySet } from "@svc/protocol/evidence/KeySet"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { verifyEvidence } from "@svc/verifier"
import { Data, Effect, Result } from "effect"
import { type StartFault, temporaryFault } from "../start/StartFault.ts"
import type { ArchivePlace } from "./ArchivePlace.ts"

/** The format of the file that is written last, and says that an archived mandate is complete. */
const MANIFEST_FORMAT = "svc-mandate-archive-1"

/** What is in the archive is not the evidence of the mandate as it ended. Nothing of the mandate may go. */
export class ArchiveUnsound extends Data.TaggedError("ArchiveUnsound")<{ readonly line: string }> {}

/** Another run has removed the mandate since it was listed, once it was in the archive of that run. */
export class MandateRemoved extends Data.TaggedError("MandateRemoved")<Record<never, never>> {}

export interface Archived {
  /** Whether it was there before, complete. */
  readonly wasThere: boolean
  /** Name of the manifest in the archive. */
  readonly manifest: string
}

type Fault = ArchiveUnsound | MandateRemoved | StartFault | StoreUnavailable

const bytesOf = (value: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`${JSON.stringify(value)}\n`)

const parsedFrom = (name: string, content: Uint8Array): Effect.Effect<unknown, ArchiveUnsound> => {
  const read = parseStrictJson(content)
  return Result.isSuccess(read)
    ? Effect.succeed(read.success)
    : Effect.fail(new ArchiveUnsound({ line: `${name} is not JSON` }))
}

const shownFile = (name: string, content: Uint8Array) => ({
  name: name.slice(name.lastIndexOf("/") + 1),
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex")
})

const readBack = Effect.fnUntraced(function* (
  place: ArchivePlace,
  name: string
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Fault> {
  const content = yield* place.read(name)
  return content ?? (yield* new ArchiveUnsound({ line: `${name} cannot be read back` }))
})

/** Evidence that is signed now. A service that cannot sign now archives nothing. */
const currentEvidence = Effect.fnUntraced(function* (
  organization: string,
  mandateId: string
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Fault, MandateStore | Signer | Randomness> {
  const envelope = yield* readEvidence({ organization, mandateId }).pipe(
    Effect.catchTags({
      SignerUnavailable: () => Effect.fail(temporaryFault("no signing key can be used now")),
      NotFound: () => Effect.fail(new MandateRemoved()),
      HistoryChanged: (fault) => Effect.die(fault),
      OrganizationUnknown: (fault) => Effect.die(fault)
    })
  )
  return bytesOf(envelope)
})

const currentKeySet = Effect.flatMap(Signer, ({ keySet }) =>
  Effect.mapError(keySet, () => temporaryFault("the signing keys cannot be read now"))
)

/** Those of the archived keys that the service publishes. Who can write to the archive could put keys of their own there. */
const trustedAmong = (archived: unknown, published: KeySet): { readonly keys: ReadonlyArray<unknown> } => {
  const { keys }: { readonly keys?: unknown } = Object(archived)
  const isPublished = (key: unknown) => published.keys.some(({ kid }) => kid === Object(key).kid)
  return { keys: Array.isArray(keys) ? keys.filter(isPublished) : [] }
}

/** Writes a file unless it is there from an earlier run, and gives what is there. */
const kept = Effect.fnUntraced(function* <R>(
  place: ArchivePlace,
  name: string,
  content: Effect.Effect<Uint8Array<ArrayBuffer>, Fault, R>
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Fault, R> {
  const found = yield* place.read(name)
  if (found !== undefined) return found
  yield* place.create(name, yield* content)
  return yield* readBack(place, name)
})

/**
 * Writes the signed evidence of a mandate that has ended, the key set that it verifies with, and last of all a manifest of both.
 * What is there in the end, from this run or an earlier one, is read back and verified in full, up to the mandate's head and
 * with keys that the service publishes. So a run that was cut off anywhere is repeated, and what was begun is completed.
 */
export const archiveMandate = Effect.fn("archiveMandate")(function* (
  place: ArchivePlace,
  organization: string,
  ended: EndedMandate
): Effect.fn.Return<Archived, Fault, MandateStore | Signer | Randomness> {
  const { hash, mandate, seq, state } = ended
  const nameOf = (what: string) => `${organization}/${mandate}/${seq}.${what}.json`
  const [manifestName, evidenceName, keySetName] = [nameOf("manifest"), nameOf("evidence"), nameOf("jwks")]
  const before = yield* place.read(manifestName)
  const evidence = yield* kept(place, evidenceName, currentEvidence(organization, mandate))
  const published = yield* currentKeySet
  const keySet = yield* kept(
    place,
    keySetName,
    Effect.sync(() => bytesOf(published))
  )

  const keys = trustedAmong(yield* parsedFrom(keySetName, keySet), published)
  const report = yield* Effect.promise(() =>
    verifyEvidence(evidence, keys, { organization, mandate, head: { seq, hash } })
  )
  const proved = report.proved?.head
  if (report.verdict !== "valid" || proved?.seq !== seq || proved.hash !== hash) {
    const failed = report.checks.filter(({ status }) => status === "fail").map(({ name }) => name)
    const why = failed.length === 0 ? "it is of another head" : failed.join(", ")
    return yield* new ArchiveUnsound({ line: `${evidenceName} does not verify: ${why}` })
  }
  const manifest = bytesOf({
    format: MANIFEST_FORMAT,
    organization_id: organization,
    mandate_id: mandate,
    state,
    head: { seq, hash },
    events: seq,
    files: [shownFile(evidenceName, evidence), shownFile(keySetName, keySet)]
  })
  if (before === undefined) yield* place.create(manifestName, manifest)
  const found = before ?? (yield* readBack(place, manifestName))
  if (Buffer.compare(found, manifest) !== 0)
    return yield* new ArchiveUnsound({ line: `${manifestName} names other files than there are` })
  return { wasThere: before !== undefined, manifest: manifestName }
})
