import { make } from "./Elements.ts"
import { type ListItems, type ListKind, listName } from "./EvidenceLists.ts"
import type { Opened } from "./Verification.ts"

interface PagedList<Kind extends ListKind> {
  readonly kind: Kind
  /** What can be chosen between, in words, by the name of the filter; one alone is not shown. */
  readonly filters: Readonly<Record<string, string>>
  /** Entries that are shown at once. */
  readonly pageSize: number
  /** What an entry is called, in the plural. */
  readonly noun: string
  readonly row: (item: ListItems[Kind]) => HTMLElement
}

let groups = 0

/** Radio buttons. */
const choices = (
  filters: Readonly<Record<string, string>>,
  label: string,
  choose: (filter: string) => void
): ReadonlyArray<HTMLElement> => {
  const entries = Object.entries(filters)
  if (entries.length < 2) return []
  const name = `filter-${++groups}`
  const inputs = entries.map(([filter, words], index) => {
    const input = make("input", { type: "radio", name, value: filter, checked: index === 0 })
    input.addEventListener("change", () => choose(filter))
    return make("label", {}, input, ` ${words}`)
  })
  return [make("fieldset", { class: "choices" }, make("legend", { class: "unseen" }, label), ...inputs)]
}

const button = (words: string, act: () => void): HTMLButtonElement => {
  const node = make("button", { type: "button" }, words)
  node.addEventListener("click", act)
  return node
}

/** A list of which one page is on the page: long evidence has tens of thousands of entries. */
export const pagedList = <Kind extends ListKind>(
  { lengths, read }: Opened,
  { filters, kind, noun, pageSize, row }: PagedList<Kind>
): HTMLElement => {
  let filter = Object.keys(filters)[0] ?? ""
  let from = 0
  const position = make("p", { class: "soft" })
  const list = make("ol", { class: kind })
  const length = () => lengths[listName(kind, filter)] ?? 0
  const show = async (): Promise<void> => {
    const wanted = `${filter} ${from}`
    const items = await read({ kind, filter, from, count: pageSize })
    // Another page was asked for meanwhile.
    if (wanted !== `${filter} ${from}`) return
    list.replaceChildren(...items.map(row))
    const all = new Intl.NumberFormat("en").format(length())
    position.textContent =
      items.length === 0 ? `No ${noun}.` : `${noun} ${from + 1} to ${from + items.length} of ${all}`
    earlier.setAttribute("aria-disabled", String(from === 0))
    later.setAttribute("aria-disabled", String(from + pageSize >= length()))
    pages.hidden = length() <= pageSize
  }
  /** The first page is no news: the verdict is announced then. */
  const showNext = (): Promise<void> => {
    position.setAttribute("role", "status")
    return show()
  }
  const turn = (by: number) => () => {
    const to = from + by
    if (to < 0 || to >= length()) return
    from = to
    void showNext().then(() => position.scrollIntoView({ block: "nearest" }))
  }
  const earlier = button("Earlier", turn(-pageSize))
  const later = button("Later", turn(pageSize))
  const pages = make("p", { class: "pages", hidden: true }, earlier, later)
  const choose = (chosen: string) => {
    filter = chosen
    from = 0
    void showNext()
  }
  void show()
  return make("div", {}, ...choices(filters, `Which ${noun}`, choose), position, list, pages)
}
