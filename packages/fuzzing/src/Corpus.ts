import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Most inputs of a target that are kept, shortest first: all are tried by a unit test. */
export const MOST_KEPT = 150

/** Longest input that is kept, in bytes. */
export const LONGEST_KEPT = 2048

const fileOf = (target: string): string => fileURLToPath(new URL(`../corpus/${target}.txt`, import.meta.url))

/** The inputs of a target that the repository keeps: a JSON string for each, of a character for each byte. */
export const readCorpus = (target: string): ReadonlyArray<Uint8Array> => {
  const file = fileOf(target)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
  return lines.map((line) => Uint8Array.from(Buffer.from(JSON.parse(line), "latin1")))
}

/** All of a byte as ASCII, so that any editor shows it. */
export const inputText = (input: Uint8Array): string =>
  JSON.stringify(Buffer.from(input).toString("latin1")).replaceAll(
    /[^\x20-\x7e]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

export const writeCorpus = (target: string, inputs: ReadonlyArray<Uint8Array>): void => {
  const kept = inputs.filter(({ length }) => length <= LONGEST_KEPT).slice(0, MOST_KEPT)
  writeFileSync(fileOf(target), [...kept.map(inputText), ""].join("\n"))
}
