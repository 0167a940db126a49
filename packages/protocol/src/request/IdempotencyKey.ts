/** The form of an idempotency key: 1 to 255 visible ASCII characters (part 3). */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/u

/** Whether a text has the form of an idempotency key. */
export const isIdempotencyKey = (text: string): boolean => IDEMPOTENCY_KEY_PATTERN.test(text)
