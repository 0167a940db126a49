/** Plain data as JSON carries it. Absent members are absent, never `undefined`. */
export type JsonValue = null | boolean | number | string | ReadonlyArray<JsonValue> | JsonObject

/** A JSON object: own string-named members only. */
export interface JsonObject {
  readonly [name: string]: JsonValue
}

/** Whether the value is a JSON object (not null, not an array). */
export const isJsonObject = (value: JsonValue): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
