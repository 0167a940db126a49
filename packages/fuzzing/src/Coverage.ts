import { type Profiler, Session } from "node:inspector"

/** What of the loaded code is looked at: the sources of the repository's own packages, less those that test. */
const OWN = /\/(?:packages|adapters)\/(?!fuzzing\/|testkit\/)[^/]+\/src\//u

type Range = Profiler.CoverageRange
type Stretch = readonly [from: number, to: number]

/** Stretches of a function that did not run. Ranges are nested, and the innermost one counts. */
export const stretchesNotRun = (ranges: ReadonlyArray<Range>): ReadonlyArray<Stretch> => {
  const bounds = [...new Set(ranges.flatMap((range) => [range.startOffset, range.endOffset]))].sort(
    (left, right) => left - right
  )
  return bounds.slice(1).flatMap((to, index): ReadonlyArray<Stretch> => {
    const from = bounds[index] ?? 0
    const innermost = ranges.findLast(({ endOffset, startOffset }) => startOffset <= from && to <= endOffset)
    return innermost?.count === 0 ? [[from, to]] : []
  })
}

const inBoth = (left: ReadonlyArray<Stretch>, right: ReadonlyArray<Stretch>): ReadonlyArray<Stretch> =>
  left.flatMap(([from, to]) =>
    right
      .map(([start, end]): Stretch => [Math.max(from, start), Math.min(to, end)])
      .filter(([start, end]) => start < end)
  )

const lengthOf = (stretches: ReadonlyArray<Stretch>): number =>
  stretches.reduce((sum, [from, to]) => sum + to - from, 0)

/** Says which code has been run, by what V8 counts: nothing needs to be instrumented. */
export const watchCoverage = () => {
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  /** Of each function that has run, what of it never has. */
  let missed = new Map<string, ReadonlyArray<Stretch>>()
  /** What was looked at before needs no second look. */
  let looked = new Set<string>()

  const take = (): ReadonlyArray<Profiler.ScriptCoverage> => {
    let taken: ReadonlyArray<Profiler.ScriptCoverage> = []
    session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error === null) taken = result
    })
    return taken
  }

  const isNew = (name: string, ranges: ReadonlyArray<Range>, remember: boolean): boolean => {
    if ((ranges[0]?.count ?? 0) === 0) return false
    const shape = `${name} ${ranges.map(({ count, endOffset, startOffset }) => `${startOffset}-${endOffset}${count > 0}`)}`
    if (looked.has(shape)) return false
    const before = missed.get(name)
    const now = stretchesNotRun(ranges)
    const left = before === undefined ? now : inBoth(before, now)
    const found = before === undefined || lengthOf(left) < lengthOf(before)
    if (remember) missed.set(name, left)
    if (remember || !found) looked.add(shape)
    return found
  }

  return {
    /** How many functions have run, and for how many characters of code it is known that they have not. */
    size: () => ({
      functions: missed.size,
      missed: [...missed.values()].reduce((sum, stretches) => sum + lengthOf(stretches), 0)
    }),
    /** Whether code has run since the last look that never had before; with `remember` it has from now on. */
    news: ({ remember }: { readonly remember: boolean }): boolean => {
      let found = false
      for (const { functions, url } of take()) {
        if (!OWN.test(url)) continue
        for (const { ranges } of functions) {
          if (isNew(`${url} ${ranges[0]?.startOffset}`, ranges, remember)) found = true
        }
      }
      return found
    },
    /** Begins anew. */
    forget: (): void => {
      take()
      missed = new Map()
      looked = new Set()
    },
    end: () => session.disconnect()
  }
}

export type Coverage = ReturnType<typeof watchCoverage>
