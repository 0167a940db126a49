import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Context, Data, Deferred, Effect, Exit, Option } from "effect"
import { HttpServerError } from "effect/http"
import { EXIT_OUTPUT_CLOSED, onOutputClosed } from "./ClosedOutput.ts"
import { configurationFault, StartFault, temporaryFault } from "./StartFault.ts"

const EXIT_FAILURE = 1

/** Files that a command creates, an embedded database too, are private to its user. */
const PRIVATE_UMASK = 0o077

/** A check whose result is negative, which the command has already printed: exit code 1 unless it says another. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly exitCode?: number }> {}

/** The reader of the output has closed it, as `head` does. */
class OutputClosed extends Data.TaggedError("OutputClosed")<Record<never, never>> {}

/**
 * Stops the running command for a reason that arises after its start: it shuts down gracefully, and the process exits with
 * the fault's line and code. Without a running command, as in a test, this does nothing.
 */
export class StopFault extends Context.Reference<(fault: StartFault) => Effect.Effect<void>>(
  "@svc/cli/start/StopFault",
  { defaultValue: () => () => Effect.void }
) {}

/** Fails once the standard output or error has been closed. */
const awaitClosedOutput = (): Effect.Effect<never, OutputClosed> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  onOutputClosed(() => {
    // The command may have ended by then.
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
    const interrupting = Effect.raceFirst(Deferred.await(stopped), awaitClosedOutput())
    return yield* Effect.raceFirst(Effect.provideService(command, StopFault, stop), interrupting)
  })

interface ListenError {
  readonly code?: string
  readonly address?: string
  readonly port?: number
}

/** A port in use may become free; any other reason lies in the settings. */
const listenFault = ({ address, code, port }: ListenError): StartFault => {
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return configurationFault(
      `cannot listen on ${address}: this machine has no such address; SVC_HOST names it`
    )
  }
  return code === "EADDRINUSE"
    ? temporaryFault(
        `port ${port} is in use by another process; choose others with SVC_PORT and SVC_APPROVAL_PORT (SVC_METRICS_PORT of svc serve and svc worker)`
      )
    : configurationFault(`cannot listen on port ${port}: ${code}`)
}

const failureOf = (cause: Cause.Cause<unknown>): unknown =>
  Option.getOrUndefined(Cause.findErrorOption(cause))

const faultOf = (failure: unknown): StartFault | undefined => {
  if (failure instanceof StartFault) return failure
  return failure instanceof HttpServerError.ServeError ? listenFault(failure.cause as ListenError) : undefined
}

const exitCodeOf = (failure: unknown): number => {
  if (failure instanceof OutputClosed) return EXIT_OUTPUT_CLOSED
  const { exitCode } = failure instanceof CheckFailed ? failure : (faultOf(failure) ?? {})
  return exitCode ?? EXIT_FAILURE
}

const report = (name: string, cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const failure = failureOf(cause)
  const fault = faultOf(failure)
  if (fault !== undefined) {
    const lines = fault.line.split("\n").map((line) => `${name}: ${line}\n`)
    return Effect.sync(() => process.stderr.write(lines.join("")))
  }
  const isSilent = failure instanceof CheckFailed || failure instanceof OutputClosed
  return isSilent || Cause.hasInterruptsOnly(cause)
    ? Effect.void
    : Effect.logFatal("the command failed", cause)
}

/**
 * Runs a command to its end, or until SIGTERM or SIGINT, then shuts down gracefully and exits 0. A command that
 * cannot start prints why and exits 64, 75 or 78. One whose output is closed shuts down in silence and exits 141.
 */
export const runCommand = <E>(name: string, command: Effect.Effect<unknown, E>): void => {
  process.umask(PRIVATE_UMASK)
  NodeRuntime.runMain(
    Effect.tapCause(stoppable(command), (cause) => report(name, cause)),
    {
      disableErrorReporting: true,
      teardown: (exit, onExit) => {
        if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
        onExit(exitCodeOf(failureOf(exit.cause)))
      }
    }
  )
}
