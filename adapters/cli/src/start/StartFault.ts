import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Context, Data, Deferred, Effect, Exit, Option, Result } from "effect"
import { HttpServerError } from "effect/http"
import { EXIT_OUTPUT_CLOSED, whenOutputCloses } from "./ClosedOutput.ts"

/** Exit codes of `sysexits.h`. */
export const EXIT_USAGE = 64
export const EXIT_TEMPORARY = 75
export const EXIT_CONFIGURATION = 78

const EXIT_FAILURE = 1

/** What a command writes, an embedded database too, is for its user alone. */
const OWNER_ALONE = 0o077

/** Why the process does not start, or cannot go on. */
export class StartFault extends Data.TaggedError("StartFault")<{
  /** In one line; several faults of settings or options, in one line each. */
  readonly line: string
  /** 64: the command or an option is not what it may be. 75: what is needed is held by somebody else for now. 78: a setting is missing or bad. */
  readonly exitCode: typeof EXIT_USAGE | typeof EXIT_TEMPORARY | typeof EXIT_CONFIGURATION
}> {}

/** A setting is missing or bad (part 9). */
export const badSetting = (line: string): StartFault => new StartFault({ line, exitCode: EXIT_CONFIGURATION })

/** A command that checks something came to the answer no, and has told so itself: exit code 1. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<Record<never, never>> {}

/** Whoever read what the command prints has enough, as `head` does. */
export class OutputClosed extends Data.TaggedError("OutputClosed")<Record<never, never>> {}

/** The command line asks for what there is not. */
export const badUsage = (line: string): StartFault => new StartFault({ line, exitCode: EXIT_USAGE })

/** Several faults as one, each told once. What is wrong with the options goes before what is wrong with the settings. */
const faultOfAll = (faults: ReadonlyArray<StartFault>): StartFault | undefined => {
  const isUsage = ({ exitCode }: StartFault) => exitCode === EXIT_USAGE
  const [first, ...others] = [...faults.filter(isUsage), ...faults.filter((fault) => !isUsage(fault))]
  if (first === undefined || others.length === 0) return first
  const lines = new Set([first, ...others].flatMap(({ line }) => line.split("\n")))
  return new StartFault({ line: [...lines].join("\n"), exitCode: first.exitCode })
}

/** Reads all of them, and fails with everything that is wrong with any. */
export const allOf = <const Parts extends Readonly<Record<string, Effect.Effect<unknown, StartFault>>>>(
  parts: Parts
): Effect.Effect<{ readonly [Name in keyof Parts]: Effect.Success<Parts[Name]> }, StartFault> =>
  Effect.gen(function* () {
    const values: Record<string, unknown> = {}
    const faults: Array<StartFault> = []
    for (const [name, part] of Object.entries(parts)) {
      const result = yield* Effect.result(part)
      if (Result.isSuccess(result)) values[name] = result.success
      else faults.push(result.failure)
    }
    const fault = faultOfAll(faults)
    return fault === undefined
      ? (values as { readonly [Name in keyof Parts]: Effect.Success<Parts[Name]> })
      : yield* fault
  })

/**
 * Stops the command that runs, for a reason that comes up long after its start: what is in flight is finished, and the
 * process ends with the line and the exit code. Without a command, as in a test, it does nothing.
 */
export class StopFault extends Context.Reference<(fault: StartFault) => Effect.Effect<void>>(
  "@svc/cli/StopFault",
  { defaultValue: () => () => Effect.void }
) {}

/** Fails once nobody reads what is printed any more. */
const awaitClosedOutput = (): Effect.Effect<never, OutputClosed> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  whenOutputCloses(() => {
    // For a command that has come to its end by then.
    process.exitCode = EXIT_OUTPUT_CLOSED
    resolve()
  })
  return Effect.andThen(
    Effect.promise(() => promise),
    Effect.fail(new OutputClosed())
  )
}

/** Runs a command until it ends, or is stopped by a fault or a closed output. */
const stoppable = <A, E>(command: Effect.Effect<A, E>): Effect.Effect<A, E | StartFault | OutputClosed> =>
  Effect.gen(function* () {
    const stopped = yield* Deferred.make<never, StartFault>()
    const stop = (fault: StartFault) => Effect.asVoid(Deferred.fail(stopped, fault))
    const ends = Effect.raceFirst(Deferred.await(stopped), awaitClosedOutput())
    return yield* Effect.raceFirst(Effect.provideService(command, StopFault, stop), ends)
  })

interface ListenError {
  readonly code?: string
  readonly address?: string
  readonly port?: number
}

/** A port that is in use is 75; any other reason not to listen on it lies in the settings. */
const listenFault = ({ address, code, port }: ListenError): StartFault => {
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return badSetting(`cannot listen on ${address}: this machine has no such address; SVC_HOST names it`)
  }
  return code === "EADDRINUSE"
    ? new StartFault({
        line: `port ${port} is in use by another process; choose others with SVC_PORT and SVC_APPROVAL_PORT`,
        exitCode: EXIT_TEMPORARY
      })
    : badSetting(`cannot listen on port ${port}: ${code}`)
}

const startFaultOf = (cause: Cause.Cause<unknown>): StartFault | undefined => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (failure instanceof StartFault) return failure
  return failure instanceof HttpServerError.ServeError ? listenFault(failure.cause as ListenError) : undefined
}

/** What needs no line: a check has told of itself, and a closed output can be told nothing. */
const isTold = (cause: Cause.Cause<unknown>): boolean => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  return failure instanceof CheckFailed || failure instanceof OutputClosed
}

const exitCodeOf = (cause: Cause.Cause<unknown>): number =>
  Option.getOrUndefined(Cause.findErrorOption(cause)) instanceof OutputClosed
    ? EXIT_OUTPUT_CLOSED
    : (startFaultOf(cause)?.exitCode ?? EXIT_FAILURE)

/**
 * Runs a command to its end, or until SIGTERM or SIGINT, then lets what is in flight finish and exits 0 (part 9). One
 * that cannot start says why in one line and exits 64, 75 or 78. One whose output is closed finishes likewise, says nothing
 * and exits 141.
 */
export const runCommand = <E>(name: string, command: Effect.Effect<unknown, E>): void => {
  process.umask(OWNER_ALONE)
  const reported = Effect.tapCause(stoppable(command), (cause) => {
    const fault = startFaultOf(cause)
    if (fault !== undefined) {
      const told = fault.line.split("\n").map((line) => `${name}: ${line}\n`)
      return Effect.sync(() => process.stderr.write(told.join("")))
    }
    return Cause.hasInterruptsOnly(cause) || isTold(cause)
      ? Effect.void
      : Effect.logFatal("the command failed", cause)
  })
  NodeRuntime.runMain(reported, {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
      onExit(exitCodeOf(exit.cause))
    }
  })
}
