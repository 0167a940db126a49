import { createRequire } from "node:module"
import type { Page } from "playwright-core"

/** Everything that WCAG 2.2 AA asks of a page and a machine can tell. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

const { source } = createRequire(import.meta.url)("axe-core") as { readonly source: string }

interface AxeResult {
  readonly id: string
  readonly help: string
  readonly nodes: ReadonlyArray<{ readonly target: ReadonlyArray<string>; readonly failureSummary?: string }>
}

interface Axe {
  readonly run: (
    selector: string,
    options: object
  ) => Promise<{ readonly violations: ReadonlyArray<AxeResult> }>
}

/**
 * The violations of a page as it stands, or of the part of it that a selector names, one line each. Forced colors are the
 * person's own, and their contrast is not the page's: the scanner, which does not know of them, leaves it out then.
 */
export const violationsOf = async (page: Page, part = "html"): Promise<ReadonlyArray<string>> => {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source)
  const violations = await page.evaluate(
    async ([values, selector]) => {
      const { run } = Reflect.get(window, "axe") as Axe
      const enabled = !matchMedia("(forced-colors: active)").matches
      const options = { runOnly: { type: "tag", values }, rules: { "color-contrast": { enabled } } }
      return (await run(selector, { ...options, resultTypes: ["violations"] })).violations
    },
    [TAGS, part] as const
  )
  return violations.flatMap(({ help, id, nodes }) =>
    nodes.map(({ failureSummary, target }) => `${id}: ${help} (${target.join(" ")}) ${failureSummary ?? ""}`)
  )
}
