import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { buildSync, type Format } from "esbuild"
import { ROOT } from "../checks/Imports.ts"

/** Name under which a bundle of the format `iife` puts what it exports. */
export const VERIFIER_GLOBAL = "svcVerifier"

/** The verifier and everything that it imports, as one minified file. An import of Node's modules fails the build. */
export const verifierBundle = (format: Format): string => {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, "packages/verifier/src/index.ts")],
    bundle: true,
    minify: true,
    write: false,
    format,
    globalName: VERIFIER_GLOBAL,
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import"],
    target: "es2024",
    logLevel: "error"
  })
  return outputFiles.map((file) => file.text).join("")
}

/** What a page that loads the verifier loads, compressed, in bytes. */
export const verifierGzipBytes = (): number => gzipSync(verifierBundle("esm")).length
