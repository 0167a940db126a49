import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { COMMANDS } from "../src/command/CommandList.ts"

/* The commands that documents for operators give: each line of their blocks, and what stands as code in a sentence. */

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url))

export interface DocumentedCommand {
  /** Relative to the root. */
  readonly page: string
  /** On one line, without a comment. Of SQL and of files of settings it is the first line of the block. */
  readonly text: string
  readonly stands: "in_block" | "in_sentence"
}

/** Languages of blocks whose lines are commands, of those that are taken as a whole, and of those that tell nobody to do anything. */
const LINES = ["sh", "text"]
const WHOLE = ["sql", "ini"]
const SHOWN = ["yaml", "json", "mermaid"]

const BLOCK = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gmu

/** How a command in a sentence begins. Other code in sentences is names, paths, settings. */
const PROGRAM = /^(?:svc|npm|docker|kubectl|helm|systemctl|curl|psql|pg_\w+|openssl) /u

const withoutComment = (line: string): string => line.replace(/\s#\s.*$/u, "").trim()

const inBlock = (language: string, body: string): ReadonlyArray<string> => {
  const lines = body
    .replaceAll(/\\\n\s*/gu, "")
    .split("\n")
    .map(withoutComment)
  if (LINES.includes(language)) return lines.filter((line) => line !== "" && !line.startsWith("#"))
  if (WHOLE.includes(language)) return lines.slice(0, 1)
  if (SHOWN.includes(language)) return []
  throw new Error(`a block of ${language === "" ? "no language" : language}: is it commands?`)
}

/** The name that the words of `svc` begin with. */
export const nameOf = (words: string): string | undefined =>
  COMMANDS.map(({ name }) => name).find((name) => `${words} `.startsWith(`${name} `))

/** A sentence that names a command alone speaks of it; with anything behind the name it says what to type. */
const isNameAlone = (text: string): boolean => {
  const words = text.replace(/^svc /u, "")
  return nameOf(words) === words
}

const inSentences = (text: string): ReadonlyArray<string> =>
  [...text.replaceAll(BLOCK, "").matchAll(/`([^`]+)`/gu)]
    .map(([, code = ""]) => code.replaceAll(/\s+/gu, " "))
    .filter((code) => PROGRAM.test(code) && !isNameAlone(code))

/** All commands of a page in its order, those of its blocks first. */
export const commandsOf = (page: string): ReadonlyArray<DocumentedCommand> => {
  const text = readFileSync(join(ROOT, page), "utf8")
  const blocks = [...text.matchAll(BLOCK)].flatMap(([, , language = "", body = ""]) =>
    inBlock(language, body)
  )
  const commands = (stands: DocumentedCommand["stands"], texts: ReadonlyArray<string>) =>
    texts.map((command) => ({ page, text: command, stands }))
  return [...commands("in_block", blocks), ...commands("in_sentence", inSentences(text))]
}

/** The pages of docs/operate. */
export const operatingPages = (): ReadonlyArray<string> =>
  readdirSync(join(ROOT, "docs", "operate"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/operate/${name}`)

/** The words of a command, without quotes, up to where its input or output is redirected. */
export const wordsOf = (text: string): ReadonlyArray<string> => {
  const words = (text.match(/"[^"]*"|\S+/gu) ?? []).map((word) => word.replaceAll('"', ""))
  const redirected = words.findIndex((word) => word === "<" || word === ">")
  return redirected < 0 ? words : words.slice(0, redirected)
}
