import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** Where the script that is served is kept. */
export const PAGE_SCRIPT = fileURLToPath(new URL("../src/approval/assets/approve.js", import.meta.url))

/** Puts the script of the approval page and the libraries it uses into one text. The same sources give the same text. */
export const bundlePageScript = async (): Promise<string> => {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("./approve.ts", import.meta.url)),
    platform: "browser",
    transform: { target: "es2022" },
    // A word that is misspelt is a fault of the build.
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
