/*
 * The elements of the page. Everything is put in as text: nothing here takes markup.
 */

type Child = Node | string | undefined

/** Attributes; `undefined` and `false` leave one out. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>

export const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[Name] => {
  const node = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(attribute, value === true ? "" : value)
  }
  node.append(...children.filter((child) => child !== undefined))
  return node
}

/** An element that is always on the page. */
export const element = <Kind extends HTMLElement = HTMLElement>(id: string): Kind =>
  document.getElementById(id) as Kind

/** A term and its descriptions. */
export const term = (label: string, ...values: ReadonlyArray<Child>): HTMLElement =>
  make(
    "div",
    {},
    make("dt", {}, label),
    ...values.filter((value) => value !== undefined && value !== "").map((value) => make("dd", {}, value))
  )

/** A part of the page under a heading. */
export const section = (id: string, heading: string, ...children: ReadonlyArray<Child>): HTMLElement =>
  make(
    "section",
    { id, "aria-labelledby": `${id}-heading` },
    make("h2", { id: `${id}-heading` }, heading),
    ...children
  )

/** What opens on demand. What it holds is made when it is opened first. */
export const disclosure = (label: string, content: () => Node): HTMLDetailsElement => {
  const details = make("details", {}, make("summary", {}, label))
  details.addEventListener("toggle", () => details.append(content()), { once: true })
  return details
}
