const encoder = new TextEncoder()

/** Length of a well-formed text in UTF-8, in bytes. */
export const utf8Length = (text: string): number => encoder.encode(text).length
