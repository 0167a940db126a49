import { SvcError } from "./SvcError.ts"

/** A page of a list. */
export interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  readonly has_more: boolean
  /** The cursor of the next page; null at the end. */
  readonly next_cursor: string | null
}

/**
 * A list that was asked for: await it for its first page, or iterate over it for all entries of all pages, which are
 * fetched as they are needed.
 */
export interface Listing<Item, P extends Page<Item> = Page<Item>> extends Promise<P>, AsyncIterable<Item> {
  /** All pages, for whoever keeps their cursors. */
  readonly pages: () => AsyncIterable<P>
}

/** A list by what fetches one page of it, the first without a cursor. */
export const makeListing = <Item, P extends Page<Item>>(
  fetchPage: (cursor: string | undefined) => Promise<P>
): Listing<Item, P> => {
  const first = fetchPage(undefined)

  async function* pages(): AsyncGenerator<P> {
    let page = await first
    for (;;) {
      yield page
      const cursor = page.next_cursor
      if (!page.has_more || cursor === null) return
      page = await fetchPage(cursor)
      if (page.next_cursor === cursor && page.has_more) {
        throw new SvcError({ code: "unexpected_response", message: "a page names itself as the next one" })
      }
    }
  }

  async function* items(): AsyncGenerator<Item> {
    for await (const page of pages()) yield* page.data
  }

  return Object.assign(first, { pages, [Symbol.asyncIterator]: items })
}
