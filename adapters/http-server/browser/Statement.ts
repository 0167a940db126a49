import type { DisplayLine } from "@svc/domain/approval/ApprovalStatement"

/** An element that is always on the page. */
export const element = (id: string): HTMLElement => document.getElementById(id)!

const lists = () => {
  const [summary, details] = element("lines").querySelectorAll("dl")
  return [summary!, details!] as const
}

/** The lines as the page shows them. */
const shownLines = (): ReadonlyArray<DisplayLine> =>
  lists()
    .flatMap((list) => [...list.querySelectorAll("dd")])
    .map((value) => ({
      label: value.parentElement?.querySelector("dt")?.textContent ?? "",
      value: value.textContent
    }))

/** Whether the page shows exactly these lines. */
export const areShown = (lines: ReadonlyArray<DisplayLine>): boolean => {
  const shown = shownLines()
  return (
    lines.length === shown.length &&
    lines.every(({ label, value }, index) => label === shown[index]!.label && value === shown[index]!.value)
  )
}

const text = (name: "dt" | "dd", content: string): HTMLElement => {
  const node = document.createElement(name)
  node.dir = "auto"
  node.textContent = content
  return node
}

/** Replaces the lines on the page, in the markup of the server. */
export const showLines = (lines: ReadonlyArray<DisplayLine>): void => {
  const groups: Array<HTMLElement> = []
  let label: string | undefined
  for (const line of lines) {
    if (line.label !== label || groups.length === 0) {
      const group = document.createElement("div")
      group.append(text("dt", line.label))
      groups.push(group)
      label = line.label
    }
    groups.at(-1)!.append(text("dd", line.value))
  }
  const [summary, details] = lists()
  summary.replaceChildren(...groups.slice(0, 1))
  details.replaceChildren(...groups.slice(1))
}
