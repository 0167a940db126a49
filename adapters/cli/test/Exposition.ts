/** A family of metrics in Prometheus' text format. */
export interface ExposedFamily {
  readonly name: string
  readonly type: string
  /** Names of the labels, those of buckets aside. */
  readonly labels: ReadonlyArray<string>
  readonly samples: ReadonlyArray<ExposedSample>
}

export interface ExposedSample {
  /** Of a histogram with its suffix. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/gu
const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/u

const parseSample = (line: string): ExposedSample => {
  const [, name, labels = "", value] = SAMPLE.exec(line) ?? []
  if (name === undefined) throw new Error(`not a sample: ${line}`)
  return {
    name,
    labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, label = "", text = ""]) => [label, text])),
    value: Number(value)
  }
}

/** The families of an exposition; each must say what it is, and have a sample. */
export const parseExposition = (text: string): ReadonlyArray<ExposedFamily> =>
  text
    .split("# HELP ")
    .slice(1)
    .map((block) => {
      const [help = "", type = "", ...lines] = block.trim().split("\n")
      const [name = ""] = help.split(" ")
      const samples = lines.map(parseSample)
      if (!type.startsWith(`# TYPE ${name} `) || samples.length === 0) throw new Error(`incomplete: ${name}`)
      const labels = Object.keys(samples[0]!.labels).filter((label) => label !== "le")
      return { name, type: type.slice(`# TYPE ${name} `.length), labels, samples }
    })

/** The samples of an exposition by name and labels. */
export const samplesByName = (text: string) => {
  const samples = parseExposition(text).flatMap((family) => family.samples)
  return {
    /** Absent where there is no such sample. */
    sampleOf: (name: string, labels: Readonly<Record<string, string>>): number | undefined =>
      samples.find(
        (sample) =>
          sample.name === name &&
          Object.keys(sample.labels).length === Object.keys(labels).length &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
      )?.value
  }
}
