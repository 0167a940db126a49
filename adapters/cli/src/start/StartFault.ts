import { Data, Effect, Result } from "effect"

/** Exit codes of `sysexits.h`. */
export const EXIT_USAGE = 64
export const EXIT_TEMPORARY = 75
export const EXIT_CONFIGURATION = 78

/** Why a command cannot start, or cannot go on. */
export class StartFault extends Data.TaggedError("StartFault")<{
  /** What is printed; several faults have a line each. */
  readonly line: string
  /** 64: unknown or invalid command or option. 75: something needed is unavailable for now. 78: missing or invalid setting. */
  readonly exitCode: typeof EXIT_USAGE | typeof EXIT_TEMPORARY | typeof EXIT_CONFIGURATION
}> {}

/** A missing or invalid setting, or something else that only the operator can change. */
export const configurationFault = (line: string): StartFault =>
  new StartFault({ line, exitCode: EXIT_CONFIGURATION })

/** An unknown or invalid command or option. */
export const usageFault = (line: string): StartFault => new StartFault({ line, exitCode: EXIT_USAGE })

/** A fault that may pass without a change of settings. */
export const temporaryFault = (line: string): StartFault => new StartFault({ line, exitCode: EXIT_TEMPORARY })

/** Several faults as one, without repeated lines. Faults of options come before faults of settings. */
const combineFaults = (faults: ReadonlyArray<StartFault>): StartFault | undefined => {
  const isUsage = ({ exitCode }: StartFault) => exitCode === EXIT_USAGE
  const [first, ...others] = [...faults.filter(isUsage), ...faults.filter((fault) => !isUsage(fault))]
  if (first === undefined || others.length === 0) return first
  const lines = new Set([first, ...others].flatMap(({ line }) => line.split("\n")))
  return new StartFault({ line: [...lines].join("\n"), exitCode: first.exitCode })
}

/** Runs every part and fails with the faults of all that failed. */
export const validateAll = <const Parts extends Readonly<Record<string, Effect.Effect<unknown, StartFault>>>>(
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
    const fault = combineFaults(faults)
    return fault === undefined
      ? (values as { readonly [Name in keyof Parts]: Effect.Success<Parts[Name]> })
      : yield* fault
  })
