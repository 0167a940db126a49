/** Set-up of a run of tests: the packages are packed and installed once, for whichever files ask for them. */
import type { TestProject } from "vitest/node"
import { exampleDependencies } from "./Examples.ts"
import { type InstalledPackages, installPackages } from "./InstalledPackages.ts"

declare module "vitest" {
  export interface ProvidedContext {
    readonly installed: InstalledPackages
  }
}

export default (project: TestProject): (() => void) => {
  const { remove, ...installed } = installPackages(exampleDependencies())
  project.provide("installed", installed)
  return remove
}
