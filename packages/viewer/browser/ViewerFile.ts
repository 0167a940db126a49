/** Puts the evidence viewer together: one file, with a security policy that lets it load and send nothing. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

/** The file of the viewer. */
export const VIEWER_FILE = fileURLToPath(new URL("../src/assets/viewer.html", import.meta.url))

const source = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

const bundleProgram = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [source("viewer.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import"],
    target: "es2022",
    legalComments: "none",
    logLevel: "error"
  })
  return outputFiles
    .map((file) => file.text)
    .join("")
    .trim()
}

const bundleStyle = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [source("viewer.css")],
    minify: true,
    write: false,
    logLevel: "error"
  })
  return outputFiles
    .map((file) => file.text)
    .join("")
    .trim()
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** Nothing but the program and the style of the file itself: no requests, no frames, and text never becomes markup or code. */
const contentSecurityPolicy = (program: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(program)}`,
    `style-src ${hashOf(style)}`,
    "worker-src blob:",
    "img-src data:",
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types svc-viewer-worker"
  ].join("; ")

/** What would end an inline script or style before its end, or change how its rest is read. */
const ENDS_EARLY = /<\/(?:script|style)|<!--|\r/iu

/** The viewer as one HTML file, reproducibly. */
export const viewerFile = async (): Promise<string> => {
  const [program, style] = await Promise.all([bundleProgram(), bundleStyle()])
  if (ENDS_EARLY.test(program) || ENDS_EARLY.test(style)) {
    throw new Error("the program or the style of the viewer cannot stand inside of HTML")
  }
  const icon = `data:image/svg+xml;base64,${readFileSync(source("viewer.svg")).toString("base64")}`
  const parts: Readonly<Record<string, string>> = {
    POLICY: contentSecurityPolicy(program, style),
    ICON: icon,
    STYLE: style,
    PROGRAM: program
  }
  const frame = readFileSync(source("viewer.html"), "utf8")
  return frame.replace(/%(POLICY|ICON|STYLE|PROGRAM)%/gu, (_, name: string) => parts[name] ?? "")
}
