import { Marked } from "marked"

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/** Escapes text for HTML. */
export const escaped = (text: string): string => text.replaceAll(/[&<>"]/gu, (found) => ENTITIES[found]!)

/** A slash within a path, after which a line may break. */
const INNER_SLASH = /(?<=[\w}])\/(?=[\w{])/gu

/** A path as code that breaks after slashes only. */
export const pathCode = (text: string): string =>
  `<code>${escaped(text).replaceAll(INNER_SLASH, "/<wbr>")}</code>`

/** The anchor of a heading. */
export const slugOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/gu, "-")

/** Names of members, states and codes in descriptions, which are set as code. */
const NAMES = /\b(?:[a-z]+(?:_[a-z0-9]+)+|[A-Z]+(?:_[A-Z]+)+)\b/gu

const marked = new Marked({
  renderer: {
    // Angle brackets in descriptions are not markup.
    html: ({ text }) => escaped(text),
    text: (token) =>
      "tokens" in token && token.tokens !== undefined
        ? false
        : escaped(token.text).replaceAll(NAMES, (name) => `<code>${name}</code>`),
    heading({ depth, text, tokens }) {
      return `<h${depth} id="${slugOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    codespan: ({ text }) => pathCode(text),
    code: ({ lang, text }) => codeBlock(text, lang ?? "")
  }
})

/** A block of code, scrollable by keyboard. */
export const codeBlock = (text: string, language: string, label = "Code"): string =>
  `<div class="code"><pre tabindex="0" role="region" aria-label="${label}"><code class="language-${language}">${escaped(text)}</code></pre></div>`

/** A description as HTML: with paragraphs, or inline. */
export const prose = (markdown: string): string => marked.parse(markdown, { async: false })
export const inlineProse = (markdown: string): string => marked.parseInline(markdown, { async: false })
