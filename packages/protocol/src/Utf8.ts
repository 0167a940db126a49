const encoder = new TextEncoder()

/** Length of a text in UTF-8, in bytes. A lone surrogate has none and counts as the three bytes of U+FFFD. */
export const utf8Length = (text: string): number => encoder.encode(text).length
