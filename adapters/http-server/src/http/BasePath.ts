/** The path of a base URL, without a trailing slash: empty for one without a path. Links within pages begin with it. */
export const basePathOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/u, "")
