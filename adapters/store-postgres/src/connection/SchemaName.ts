/** The default schema of the store. */
export const DEFAULT_SCHEMA = "svc"
