import { Context } from "effect"

/** Bytes that nobody can predict. */
export class Randomness extends Context.Service<
  Randomness,
  { readonly bytes: (count: number) => Uint8Array }
>()("@svc/domain/ports/Randomness") {}
