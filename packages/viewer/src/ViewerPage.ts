import { readFileSync } from "node:fs"

// The read names its file in full: the build of the package puts the content in its place.
const PAGE = readFileSync(new URL("./assets/viewer.html", import.meta.url), "utf8")

/**
 * The evidence viewer: one HTML file that verifies evidence in the browser and shows it. Save it and open it, or serve it; its
 * own content security policy lets it load and send nothing.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs"
 * import { viewerPage } from "@svc/viewer"
 *
 * writeFileSync("viewer.html", viewerPage())
 * ```
 */
export const viewerPage = (): string => PAGE
