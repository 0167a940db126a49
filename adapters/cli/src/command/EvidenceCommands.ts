import {
  compareEvidence,
  type EvidenceReport,
  type Expectations,
  findNoEvidence,
  parseKnownPasskey,
  parseRememberedHead,
  type RememberedHead,
  replayEvidence,
  type Verdict,
  verifyEvidence
} from "@svc/verifier"
import { Console, Effect } from "effect"
import { CheckFailed } from "../start/RunCommand.ts"
import { type StartFault, usageFault } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"
import { CannotRun, readEvidenceFile, readKeySet } from "./EvidenceFiles.ts"
import { comparisonText, replayedText, reportText } from "./EvidenceText.ts"
import { printableJson } from "./PrintableText.ts"

const EXIT_CODES: Readonly<Record<Verdict, number>> = { valid: 0, invalid: 2, unsupported: 3 }

const KINDS = {
  jwks: "one",
  head: "one",
  mandate: "one",
  organization: "one",
  environment: "one",
  subject: "one",
  "rp-id": "many",
  origin: "many",
  passkey: "many",
  until: "one",
  json: "flag"
} as const

const OPTIONS_HELP = `  --jwks <file|url>         the signing key set, from /.well-known/jwks.json of the service: a file, or its https address
  --head <seq:hash>         the head that was printed for earlier evidence: nothing before it may have changed
  --mandate <id>            the mandate that the evidence must be of; --organization, --environment, --subject likewise
  --rp-id <id>              relying party id of the approval page; may be repeated
  --origin <origin>         origin of the approval page; may be repeated
  --passkey <id:key>        credential id and public key (COSE_Key as base64url) of a passkey that is known to be the
                            subject's; may be repeated. An id alone pins nothing
  --json                    prints JSON`

const EXIT_HELP = `Needs no server and no settings.

Exit codes: 0 the evidence is valid, 2 it is not, 3 this version cannot check it, 1 it could not be looked at (a file or the key set
cannot be read, or a file is empty, a problem of the service or an HTML page), 64 invalid options.`

/** Words that are files, and the options. */
const splitWords = (words: ReadonlyArray<string>) => {
  const files: Array<string> = []
  const options: Array<string> = []
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (!word.startsWith("--")) files.push(word)
    else {
      options.push(word)
      const hasValue = word !== "--json" && !word.includes("=")
      const value = words[index + 1]
      if (hasValue && value !== undefined) {
        options.push(value)
        index += 1
      }
    }
  }
  return { files, options }
}

const headOf = Effect.fnUntraced(function* (
  text: string | undefined
): Effect.fn.Return<RememberedHead | undefined, StartFault> {
  if (text === undefined) return undefined
  return (
    parseRememberedHead(text) ??
    (yield* usageFault("--head must be a number, a colon and 43 characters, as it was printed"))
  )
})

const given = <Name extends string, A>(name: Name, value: A | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [K in Name]?: A }

const unlessEmpty = <A>(list: ReadonlyArray<A>): ReadonlyArray<A> | undefined =>
  list.length === 0 ? undefined : list

/** What every command on evidence is given. */
const readGiven = Effect.fnUntraced(function* (words: ReadonlyArray<string>, take: "evidence" | "two") {
  const { files, options } = splitWords(words)
  const read = yield* readOptions(KINDS, options)
  const isEnough = take === "two" ? files.length === 2 : files.length > 0
  yield* refuseUnless(
    isEnough && files.filter((file) => file === "-").length <= 1,
    take === "two"
      ? "two files of evidence are needed"
      : "a file of evidence is needed, or - for the standard input, which can be read once"
  )
  const jwks = yield* requiredOption(read.jwks, "jwks")
  const head = yield* headOf(read.head)
  const expectations: Expectations = {
    ...given("head", head),
    ...given("mandate", read.mandate),
    ...given("organization", read.organization),
    ...given("environment", read.environment),
    ...given("subject", read.subject),
    ...given("rpIds", unlessEmpty(read["rp-id"])),
    ...given("origins", unlessEmpty(read.origin)),
    ...given("passkeys", unlessEmpty(read.passkey.map(parseKnownPasskey)))
  }
  return { files, jwks, expectations, until: read.until, json: read.json }
})

const asJson = (value: unknown): string => printableJson(value, 2)

/** Ends the command as the verdict says. */
const endWith = (verdict: Verdict): Effect.Effect<void, CheckFailed> =>
  verdict === "valid" ? Effect.void : Effect.fail(new CheckFailed({ exitCode: EXIT_CODES[verdict] }))

/** An outage ends in words of its own, on standard error: nothing was found out about the evidence. */
const sayingWhatCannotRun = <A, E>(
  work: Effect.Effect<A, E | CannotRun>
): Effect.Effect<A, E | CheckFailed> =>
  Effect.catchIf(
    work,
    (error): error is CannotRun & E => error instanceof CannotRun,
    ({ line }) =>
      Effect.andThen(
        Console.error(`could not run: ${line}\nNothing was found out about the evidence.`),
        Effect.fail(new CheckFailed({}))
      )
  ) as Effect.Effect<A, E | CheckFailed>

/** Evidence and what is given with it: at least one file. */
type EvidenceParts = readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]

interface Given {
  readonly files: ReadonlyArray<string>
  readonly jwks: string
  readonly expectations: Expectations
}

/** Reads the files and the key set. What a failed download left behind is no evidence, and proves nothing about any. */
const readAll = ({ expectations, files, jwks }: Given) =>
  Effect.gen(function* () {
    const evidence = yield* Effect.forEach(files, readEvidenceFile)
    const keySet = yield* readKeySet(jwks)
    const none = yield* Effect.promise(() => findNoEvidence(evidence, keySet, expectations))
    if (none !== undefined) {
      const file = files[none.index] === "-" ? "the standard input" : files[none.index]
      return yield* new CannotRun({
        line: `${file} is no evidence: it is ${none.what}. Fetch the evidence again`
      })
    }
    return { evidence: evidence as unknown as EvidenceParts, keySet }
  })

const say = (report: EvidenceReport, json: boolean) => Console.log(json ? asJson(report) : reportText(report))

const verify: Command = {
  name: "evidence verify",
  help: `svc evidence verify <file|-> [continuation...]: verifies the evidence of a mandate, as it was received, in full: the signature, the chain of events, the
approval with its passkey, and every decision, which is made again. Continuations of it (?after_seq=) follow in their order.

${OPTIONS_HELP}

${EXIT_HELP}`,
  run: (words) =>
    sayingWhatCannotRun(
      Effect.gen(function* () {
        const { expectations, files, json, jwks } = yield* readGiven(words, "evidence")
        const { evidence, keySet } = yield* readAll({ expectations, files, jwks })
        const report = yield* Effect.promise(() => verifyEvidence(evidence, keySet, expectations))
        yield* say(report, json)
        yield* endWith(report.verdict)
      })
    )
}

const untilOf = Effect.fnUntraced(function* (text: string | undefined): Effect.fn.Return<number, StartFault> {
  if (text === undefined) return Number.MAX_SAFE_INTEGER
  const [, seq] = /^(?:seq=)?(\d{1,9})$/u.exec(text) ?? []
  return seq === undefined ? yield* usageFault("--until must be seq=<number>") : Number(seq)
})

const replay: Command = {
  name: "evidence replay",
  help: `svc evidence replay <file|-> [continuation...]: verifies evidence, then prints event by event what was decided and how the mandate and its budgets stood
after it. Amounts are in minor units.

  --until seq=<number>      ends with this event
${OPTIONS_HELP}

${EXIT_HELP}`,
  run: (words) =>
    sayingWhatCannotRun(
      Effect.gen(function* () {
        const { expectations, files, json, jwks, until } = yield* readGiven(words, "evidence")
        const last = yield* untilOf(until)
        const { evidence, keySet } = yield* readAll({ expectations, files, jwks })
        const { events, report } = yield* Effect.promise(() => replayEvidence(evidence, keySet, expectations))
        if (report.verdict !== "valid") {
          yield* say(report, json)
          return yield* endWith(report.verdict)
        }
        for (const step of events) {
          if (step.event.seq > last) break
          yield* Console.log(json ? printableJson(step) : replayedText(step))
        }
      })
    )
}

const diff: Command = {
  name: "evidence diff",
  help: `svc evidence diff <earlier> <later>: verifies both, and that the later continues the earlier: every event of it is there, unchanged.
Prints what was added.

${OPTIONS_HELP}

${EXIT_HELP}`,
  run: (words) =>
    sayingWhatCannotRun(
      Effect.gen(function* () {
        const { expectations, files, json, jwks } = yield* readGiven(words, "two")
        const { evidence, keySet } = yield* readAll({ expectations, files, jwks })
        const [earlier, later = earlier] = evidence
        const comparison = yield* Effect.promise(() =>
          compareEvidence({ earlier, later }, keySet, expectations)
        )
        yield* Console.log(json ? asJson(comparison) : comparisonText(comparison))
        yield* endWith(comparison.verdict)
      })
    )
}

const viewer: Command = {
  name: "evidence viewer",
  help: `svc evidence viewer > viewer.html: prints the evidence viewer, one HTML file. It verifies evidence in a browser as "svc evidence verify"
does, and shows what was proved, the text that was signed, budgets, decisions and the timeline, also in print. The file can be passed
on with the evidence: it needs no server, and it cannot use the network.

Exit codes: 0 printed, 64 invalid options.`,
  run: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    const { viewerPage } = yield* Effect.promise(() => import("@svc/viewer"))
    yield* Console.log(viewerPage().trimEnd())
  })
}

/** Commands about evidence that need no store. */
export const evidenceCommands: ReadonlyArray<Command> = [verify, replay, diff, viewer]
