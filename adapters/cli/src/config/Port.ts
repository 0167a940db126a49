/** The highest TCP port. */
export const MAX_PORT = 65_535

/** A TCP port other than 0, in decimal digits. */
export const parsePort = (text: string): number | undefined => {
  const port = /^\d{1,5}$/u.test(text) ? Number(text) : 0
  return port >= 1 && port <= MAX_PORT ? port : undefined
}
