import { SAMPLERS } from "@svc/telemetry/TraceSampler"
import { Redacted } from "effect"
import type { Setting } from "./Setting.ts"
import { oneOfWords } from "./SettingParsers.ts"

/*
 * The variables of the OpenTelemetry specification that are read, with its meanings and defaults.
 */

const MAX_MILLISECONDS = 3_600_000
const MAX_BATCH_SIZE = 10_000

const parseHttpUrl = (text: string): URL | undefined => {
  const url = URL.parse(text)
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined
}

/** Pairs `key=value` with commas between them, the values percent-encoded (W3C Baggage). */
const parsePairs = (text: string): Readonly<Record<string, string>> | undefined => {
  const pairs = text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/u.exec(pair))
  try {
    const read = pairs.map((pair) =>
      pair === null ? undefined : ([pair[1]!, decodeURIComponent(pair[2]!)] as const)
    )
    return read.includes(undefined)
      ? undefined
      : Object.fromEntries(read as ReadonlyArray<readonly [string, string]>)
  } catch {
    return undefined
  }
}

const wholeNumberUpTo =
  (most: number) =>
  (text: string): number | undefined =>
    /^[1-9]\d{0,7}$/u.test(text) && Number(text) <= most ? Number(text) : undefined

const parseRatio = (text: string): number | undefined =>
  /^(?:0|1|0?\.\d+|1\.0+|0\.0*)$/u.test(text) ? Number(text) : undefined

const ofTraces = <A>(setting: Setting<A>): Setting<A> => {
  const { byDefault: _, ...others } = setting
  return {
    ...others,
    name: setting.name.replace("OTLP_", "OTLP_TRACES_"),
    meaning: `The same for traces, in place of ${setting.name}.`,
    isOptional: true
  }
}

export const OTEL_SDK_DISABLED = {
  name: "OTEL_SDK_DISABLED",
  meaning: "Whether no traces are made, whatever else is set.",
  form: "true or false",
  byDefault: "false",
  parse: (text: string) => oneOfWords("true", "false")(text.toLowerCase())
} as const satisfies Setting<unknown>

export const OTEL_TRACES_EXPORTER = {
  name: "OTEL_TRACES_EXPORTER",
  meaning: "How traces are exported, where there is an endpoint.",
  form: "otlp or none",
  byDefault: "otlp",
  parse: oneOfWords("otlp", "none")
} as const satisfies Setting<unknown>

export const OTLP_ENDPOINT = {
  name: "OTEL_EXPORTER_OTLP_ENDPOINT",
  meaning: "The collector, to whose URL v1/traces is added. By default no traces are made.",
  form: "an http or https URL such as http://collector:4318",
  isOptional: true,
  parse: parseHttpUrl
} as const satisfies Setting<unknown>

export const OTLP_TRACES_ENDPOINT = {
  ...ofTraces(OTLP_ENDPOINT),
  meaning: "The URL that traces are sent to, as it is, in place of that of the collector.",
  form: "an http or https URL such as http://collector:4318/v1/traces"
}

export const OTLP_PROTOCOL = {
  name: "OTEL_EXPORTER_OTLP_PROTOCOL",
  meaning: "How traces are encoded.",
  form: "http/protobuf or http/json",
  byDefault: "http/protobuf",
  parse: oneOfWords("http/protobuf", "http/json")
} as const satisfies Setting<unknown>

export const OTLP_HEADERS = {
  name: "OTEL_EXPORTER_OTLP_HEADERS",
  meaning: "Headers of the exports, such as credentials.",
  form: "key=value pairs with commas between them, the values percent-encoded",
  isOptional: true,
  parse: (text: string) => {
    const pairs = parsePairs(text)
    return pairs === undefined ? undefined : Redacted.make(pairs, { label: "otlp headers" })
  }
} as const satisfies Setting<unknown>

export const OTLP_TIMEOUT = {
  name: "OTEL_EXPORTER_OTLP_TIMEOUT",
  meaning: "Longest that one export may take, in milliseconds.",
  form: `a whole number from 1 to ${MAX_MILLISECONDS}`,
  byDefault: "10000",
  parse: wholeNumberUpTo(MAX_MILLISECONDS)
} as const satisfies Setting<unknown>

export const OTLP_COMPRESSION = {
  name: "OTEL_EXPORTER_OTLP_COMPRESSION",
  meaning: "How exports are compressed.",
  form: "gzip or none",
  byDefault: "none",
  parse: oneOfWords("gzip", "none")
} as const satisfies Setting<unknown>

export const OTLP_TRACES_PROTOCOL = ofTraces(OTLP_PROTOCOL)
export const OTLP_TRACES_HEADERS = ofTraces(OTLP_HEADERS)
export const OTLP_TRACES_TIMEOUT = ofTraces(OTLP_TIMEOUT)
export const OTLP_TRACES_COMPRESSION = ofTraces(OTLP_COMPRESSION)

export const OTEL_SERVICE_NAME = {
  name: "OTEL_SERVICE_NAME",
  meaning: "Name of the service in traces. By default service.name of OTEL_RESOURCE_ATTRIBUTES, or else svc.",
  form: "a text",
  isOptional: true,
  parse: (text: string) => text
} as const satisfies Setting<unknown>

export const OTEL_RESOURCE_ATTRIBUTES = {
  name: "OTEL_RESOURCE_ATTRIBUTES",
  meaning: "Attributes of the process in traces.",
  form: "key=value pairs with commas between them, the values percent-encoded",
  isOptional: true,
  parse: parsePairs
} as const satisfies Setting<unknown>

export const OTEL_TRACES_SAMPLER = {
  name: "OTEL_TRACES_SAMPLER",
  meaning: "Which traces are exported.",
  form: `one of ${SAMPLERS.join(", ")}`,
  byDefault: "parentbased_always_on",
  parse: oneOfWords(...SAMPLERS)
} as const satisfies Setting<unknown>

export const OTEL_TRACES_SAMPLER_ARG = {
  name: "OTEL_TRACES_SAMPLER_ARG",
  meaning: "Part of the traces that the samplers traceidratio export.",
  form: "a number from 0 to 1 such as 0.01",
  byDefault: "1",
  parse: parseRatio
} as const satisfies Setting<unknown>

export const OTEL_BSP_SCHEDULE_DELAY = {
  name: "OTEL_BSP_SCHEDULE_DELAY",
  meaning: "Time between two exports, in milliseconds.",
  form: `a whole number from 1 to ${MAX_MILLISECONDS}`,
  byDefault: "5000",
  parse: wholeNumberUpTo(MAX_MILLISECONDS)
} as const satisfies Setting<unknown>

export const OTEL_BSP_MAX_EXPORT_BATCH_SIZE = {
  name: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
  meaning: "Most spans of one export.",
  form: `a whole number from 1 to ${MAX_BATCH_SIZE}`,
  byDefault: "512",
  parse: wholeNumberUpTo(MAX_BATCH_SIZE)
} as const satisfies Setting<unknown>

export const OPEN_TELEMETRY_SETTINGS: ReadonlyArray<Setting<unknown>> = [
  OTLP_ENDPOINT,
  OTLP_TRACES_ENDPOINT,
  OTLP_PROTOCOL,
  OTLP_TRACES_PROTOCOL,
  OTLP_HEADERS,
  OTLP_TRACES_HEADERS,
  OTLP_TIMEOUT,
  OTLP_TRACES_TIMEOUT,
  OTLP_COMPRESSION,
  OTLP_TRACES_COMPRESSION,
  OTEL_SERVICE_NAME,
  OTEL_RESOURCE_ATTRIBUTES,
  OTEL_TRACES_SAMPLER,
  OTEL_TRACES_SAMPLER_ARG,
  OTEL_TRACES_EXPORTER,
  OTEL_BSP_SCHEDULE_DELAY,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
  OTEL_SDK_DISABLED
]
