import { SvcError } from "svc"

/** Why a call was refused, for the shop's log. */
export const reasonOf = (error: unknown): string =>
  error instanceof SvcError ? `${error.code}: ${error.message}` : "not a refusal"
