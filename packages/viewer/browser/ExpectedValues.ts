import type { Expectations, RememberedHead } from "@svc/verifier"
import { element } from "./Elements.ts"

/** A value that was entered and cannot be compared with anything. */
export class UnreadableValue extends Error {}

const HEAD = /^(?:(\d{1,9}):)?([A-Za-z0-9_-]{43})$/u

const headOf = (text: string): RememberedHead => {
  const [, seq, hash] = HEAD.exec(text) ?? []
  if (hash === undefined) {
    throw new UnreadableValue(
      "The remembered head must be a number, a colon and 43 characters, as it was shown for the earlier evidence."
    )
  }
  return { hash, ...(seq === undefined ? {} : { seq: Number(seq) }) }
}

const entered = (id: string): string => element<HTMLInputElement>(id).value.trim()

const several = (id: string): ReadonlyArray<string> =>
  entered(id)
    .split(/[\s,]+/u)
    .filter(Boolean)

/** Members that are undefined, or lists without an entry, are left out: what is left out is not checked. */
const given = <A extends object>(members: A): { readonly [K in keyof A]?: NonNullable<A[K]> } =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0)
    )
  ) as { readonly [K in keyof A]?: NonNullable<A[K]> }

/**
 * What the person who looks at the evidence knows from elsewhere.
 *
 * @throws UnreadableValue for a head that is none.
 */
export const expectedValues = (): Expectations => {
  const head = entered("expect-head")
  return given({
    mandate: entered("expect-mandate"),
    organization: entered("expect-organization"),
    environment: entered("expect-environment"),
    subject: entered("expect-subject"),
    rpIds: several("expect-rp-ids"),
    origins: several("expect-origins"),
    passkeys: several("expect-passkeys").map((text) => {
      const [credentialId = "", publicKey] = text.split(":")
      return publicKey === undefined ? { credentialId } : { credentialId, publicKey }
    }),
    head: head === "" ? undefined : headOf(head)
  })
}
