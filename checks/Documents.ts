/** Reads the documents of this repository: their links, headings, and the parts of the interface that texts cite. */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { ROOT } from "./Imports.ts"

const FOLDERS = ["packages", "adapters", "examples", "checks", "scripts", "docs"]
const TEXT_FILE = /\.(?:ts|mjs|md|css)$/u
const NOT_OURS = /(?:^|\/)(?:node_modules|dist|\.data)(?:\/|$)/u

export interface TextFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

const read = (path: string): TextFile => ({ path, text: readFileSync(join(ROOT, path), "utf8") })

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (NOT_OURS.test(path)) return []
    return entry.isDirectory() ? filesBelow(path) : [path]
  })

/** Every text of the repository that may cite a part of the interface. */
export const textFiles = (): ReadonlyArray<TextFile> =>
  ["README.md", ...FOLDERS.flatMap(filesBelow).filter((path) => TEXT_FILE.test(path))].map(read)

export const markdownFiles = (): ReadonlyArray<TextFile> =>
  textFiles().filter(({ path }) => path.endsWith(".md"))

/** The file of each part of the interface, by its number. */
export const partFiles = (): ReadonlyMap<string, TextFile> =>
  new Map(
    filesBelow("docs/interface").flatMap((path) => {
      const [, number] = /\/(\d+)-[^/]+\.md$/u.exec(path) ?? []
      return number === undefined ? [] : [[number, read(path)] as const]
    })
  )

export interface Citation {
  readonly path: string
  readonly part: string
  /** Method and path of the route that is cited with the part, parameters as `{}`. */
  readonly route?: string
}

const CITATION =
  /\bparts? (\d+(?:(?:,| and|, and| to) \d+)*)(?:,? \(?(GET|POST|PUT|DELETE) (\/[A-Za-z0-9/{}_.-]*[A-Za-z0-9}]))?/gu

/** Joins the lines of a comment, without the star or slashes that begin them. */
const onOneLine = (text: string): string => text.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/gu, " ")

const numbersOf = (cited: string): ReadonlyArray<string> => {
  const [first = "", last] = cited.split(" to ")
  if (last === undefined) return cited.match(/\d+/gu) ?? []
  const [from = "", ...before] = (first.match(/\d+/gu) ?? []).toReversed()
  const upto = (last.match(/\d+/gu) ?? []).map(Number)
  const range = Array.from({ length: (upto[0] ?? 0) - Number(from) + 1 }, (_, index) => Number(from) + index)
  return [...before.map(Number), ...range, ...upto.slice(1)].map(String)
}

/** A route however its parameters are called. */
export const withoutNames = (text: string): string => text.replaceAll(/\{[a-z_]+\}/gu, "{}")

export const citationsOf = ({ path, text }: TextFile): ReadonlyArray<Citation> =>
  [...onOneLine(text).matchAll(CITATION)].flatMap(([, cited = "", method, route]) =>
    numbersOf(cited).map((part) => ({
      path,
      part,
      ...(method === undefined ? {} : { route: withoutNames(`${method} ${route}`) })
    }))
  )

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^( *)```[\s\S]*?^\1```$/gmu, "").replaceAll(/`[^`\n]*`/gu, "")

/** Targets of the links and pictures of a document that lead to a file or a heading of the repository. */
export const linksOf = ({ text }: TextFile): ReadonlyArray<string> =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/gu)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/iu.test(target))

const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-")

/** The anchors of a document as GitHub makes them: a heading that comes again has a number. */
export const anchorsOf = ({ text }: TextFile): ReadonlySet<string> => {
  const seen = new Map<string, number>()
  const headings = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gmu, "").matchAll(/^#{1,6} (.+)$/gmu)
  return new Set(
    [...headings].map(([, heading = ""]) => {
      const slug = slugOf(heading)
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    })
  )
}

/** The file that a link of a document leads to, relative to the root, and the heading in it. */
export const targetOf = (
  from: TextFile,
  link: string
): { readonly path: string; readonly anchor?: string } => {
  const [path = "", anchor] = link.split("#")
  const file =
    path === "" ? from.path : relative(ROOT, join(ROOT, from.path, "..", path)).replaceAll("\\", "/")
  return anchor === undefined ? { path: file } : { path: file, anchor }
}

/** The table under "Limits" in docs/interface/README.md: each limit by its words. */
export const documentedLimits = (): ReadonlyMap<string, number> => {
  const { text } = read("docs/interface/README.md")
  const rows = text.slice(text.indexOf("\n## Limits")).matchAll(/^\| (.+?) \| ([\d,]+) \|/gmu)
  return new Map([...rows].map(([, limit = "", value = ""]) => [limit, Number(value.replaceAll(",", ""))]))
}
