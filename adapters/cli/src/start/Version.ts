import { readFileSync } from "node:fs"

/** The release of this program. */
export const version = (): string => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  return (JSON.parse(text) as { readonly version: string }).version
}

/** The oldest Node that runs the commands, as `engines` of the published package says. */
export const OLDEST_NODE = ">=22.19"

const numbersOf = (text: string): readonly [major: number, minor: number] => {
  const [, major, minor] = /(\d+)\.(\d+)/u.exec(text) ?? []
  return [Number(major), Number(minor)]
}

/** Why a version of Node cannot run the commands, if it cannot. npm only warns of that when it installs them. */
export const nodeFault = (node: string): string | undefined => {
  const [major, minor] = numbersOf(node)
  const [oldestMajor, oldestMinor] = numbersOf(OLDEST_NODE)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? undefined
    : `svc: this is Node ${node}; it needs ${oldestMajor}.${oldestMinor} or later`
}
