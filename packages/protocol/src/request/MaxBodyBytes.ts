/** Largest request body, in bytes (part 1). */
export const MAX_BODY_BYTES = 64 * 1024
