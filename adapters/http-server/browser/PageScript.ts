import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** The file of the served script. */
export const PAGE_SCRIPT = fileURLToPath(new URL("../src/approval/assets/approve.js", import.meta.url))

/** Bundles the script of the approval page with its libraries, reproducibly. */
export const bundlePageScript = async (): Promise<string> => {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("./approve.ts", import.meta.url)),
    platform: "browser",
    transform: { target: "es2022" },
    // Warnings, such as about an unresolved name, fail the build.
    onLog: (_level, log) => {
      throw new Error(log.message)
    }
  })
  try {
    const { output } = await bundle.generate({ format: "es", minify: true, comments: false })
    return output[0].code
  } finally {
    await bundle.close()
  }
}
