import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const READ = /\breadFileSync\(new URL\("(\.\/[^"]+)", import\.meta\.url\)(, "utf8")?\)/gu

const NEIGHBOUR = /\bnew URL\((?:"|`)\.\//u

/**
 * Compiled JavaScript with the files that it reads beside itself in place of the reads, so that it also runs from a bundle.
 *
 * @param text compiled JavaScript
 * @param source path of the source, which says where the files are
 * @throws Error if it reads a file beside itself in another way than with a literal name.
 */
export const withInlinedFiles = (text: string, source: string): string => {
  const inlined = text.replace(READ, (_, path: string, encoding: string | undefined) => {
    const bytes = readFileSync(join(dirname(source), path))
    return encoding === undefined
      ? `Buffer.from("${bytes.toString("base64")}", "base64")`
      : JSON.stringify(bytes.toString("utf8"))
  })
  if (NEIGHBOUR.test(inlined))
    throw new Error(`${source} reads a file beside itself whose name is no literal`)
  return inlined
}
