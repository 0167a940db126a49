import { Context } from "effect"

/** Unpredictable bytes. */
export class Randomness extends Context.Service<
  Randomness,
  { readonly bytes: (count: number) => Uint8Array }
>()("@svc/domain/ports/Randomness") {}
