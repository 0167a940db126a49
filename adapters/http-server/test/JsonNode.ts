import { isJsonObject, type JsonObject, type JsonValue } from "@svc/protocol/json/Json"

/** The object at a path of member names; a test that finds none there fails. */
export const objectAt = (value: JsonValue, ...path: ReadonlyArray<string>): JsonObject => {
  let found: JsonValue | undefined = value
  for (const name of path) found = found !== undefined && isJsonObject(found) ? found[name] : undefined
  if (found === undefined || !isJsonObject(found)) throw new Error(`no object at ${path.join(" ")}`)
  return found
}

/** The member names and objects of an object. */
export const objectsIn = (value: JsonObject): ReadonlyArray<readonly [string, JsonObject]> =>
  Object.entries(value).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]))

/** The object that a reference within the document stands for; any other object is itself. */
export const resolved = (document: JsonObject, node: JsonObject): JsonObject =>
  typeof node.$ref === "string" ? objectAt(document, ...node.$ref.slice(2).split("/")) : node
