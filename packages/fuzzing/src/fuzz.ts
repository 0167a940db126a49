/** `npm run fuzz -- [--minutes M] [--target NAME] [--seed S] [--keep]`: tries inputs on whatever reads bytes that others wrote. */
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import { inputText, readCorpus, writeCorpus } from "./Corpus.ts"
import type { FuzzReport } from "./FuzzRun.ts"
import { INPUT_OFFSET, type WorkerData } from "./fuzzWorker.ts"
import { MAX_INPUT_BYTES } from "./Mutator.ts"
import { TARGETS } from "./Targets.ts"

const MILLISECONDS_PER_MINUTE = 60_000
const DEFAULT_MINUTES = 10
const SEEDS = 2 ** 31
const EX_USAGE = 64

/** An input that has not ended by then never will, in milliseconds. */
const HANG_MS = 20_000

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const usage = (): never => {
  process.stderr.write(
    `npm run fuzz -- [--minutes M] [--target NAME]... [--seed S] [--keep]\nnpm run fuzz -- --target NAME --input 'JSON STRING'\ntargets: ${Object.keys(TARGETS).join(", ")}\n`
  )
  process.exit(EX_USAGE)
}

const readSettings = () => {
  try {
    const { values } = parseArgs({
      args: process.argv.slice(2),
      options: {
        minutes: { type: "string", default: String(DEFAULT_MINUTES) },
        target: { type: "string", multiple: true, default: Object.keys(TARGETS) },
        seed: { type: "string", default: String(Math.floor(Math.random() * SEEDS)) },
        input: { type: "string" },
        keep: { type: "boolean", default: false }
      }
    })
    const minutes = Number(values.minutes)
    const seed = Number(values.seed)
    const areKnown = values.target.every((name) => Object.hasOwn(TARGETS, name))
    if (!(minutes > 0) || !Number.isSafeInteger(seed) || !areKnown) return usage()
    return { ...values, minutes, seed }
  } catch {
    return usage()
  }
}

const settings = readSettings()

/** Fuzzes one target in a thread of its own, which can be ended when an input never ends. */
const fuzzInThread = (target: string, milliseconds: number): Promise<FuzzReport> =>
  new Promise((resolve, reject) => {
    const shared = new SharedArrayBuffer(INPUT_OFFSET + MAX_INPUT_BYTES)
    const state = new Int32Array(shared, 0, 2)
    const workerData: WorkerData = {
      target,
      seed: settings.seed,
      milliseconds,
      shared,
      known: readCorpus(target)
    }
    const worker = new Worker(new URL("./fuzzWorker.ts", import.meta.url), { workerData })
    let last = -1
    const watch = setInterval(() => {
      const now = Atomics.load(state, 0)
      if (now !== last || now === 0) {
        last = now
        return
      }
      const input = new Uint8Array(new Uint8Array(shared, INPUT_OFFSET, Atomics.load(state, 1)))
      const report = { inputs: now, seconds: 0, corpus: [], functions: 0, slowest: HANG_MS }
      end({ ...report, findings: [{ input, fault: `it has not ended after ${HANG_MS / 1000} s` }] })
    }, HANG_MS)
    const end = (report: FuzzReport): void => {
      clearInterval(watch)
      worker.terminate().then(() => resolve(report), reject)
    }
    worker.once("message", end)
    worker.once("error", (error) => {
      clearInterval(watch)
      reject(error)
    })
  })

const fuzzAll = async (): Promise<number> => {
  print(`seed ${settings.seed}`)
  const share = (settings.minutes * MILLISECONDS_PER_MINUTE) / settings.target.length
  let inputs = 0
  let findings = 0
  for (const target of settings.target) {
    const report = await fuzzInThread(target, share)
    inputs += report.inputs
    findings += report.findings.length
    const rate = Math.round(report.inputs / Math.max(report.seconds, 1))
    print(
      `${target}: ${report.inputs} inputs, ${rate} a second, ${report.functions} functions reached, ${report.corpus.length} inputs reach all that was, slowest ${Math.round(report.slowest)} ms, ${report.findings.length} findings`
    )
    for (const { fault, input } of report.findings) {
      print(`\n${fault.split("\n").slice(0, 8).join("\n")}`)
      print(
        `Again: npm run fuzz -- --target ${target} --input '${inputText(input).replaceAll("'", "\\u0027")}'\n`
      )
    }
    const isLost = report.corpus.length === 0
    if (settings.keep && !isLost)
      writeCorpus(target, [...report.findings.map(({ input }) => input), ...report.corpus])
  }
  print(`${inputs} inputs, ${findings} findings`)
  return findings
}

const tryOne = async (target: string, text: string): Promise<number> => {
  const made = await TARGETS[target]?.()
  await made?.run(Uint8Array.from(Buffer.from(JSON.parse(text), "latin1")))
  print("nothing is wrong with it")
  return 0
}

const [first = ""] = settings.target
process.exitCode =
  (settings.input === undefined ? await fuzzAll() : await tryOne(first, settings.input)) === 0 ? 0 : 1
