import { type Expectations, parseKnownPasskey, parseRememberedHead, type RememberedHead } from "@svc/verifier"
import { element } from "./Elements.ts"

/** A value that was entered and cannot be compared with anything. */
export class UnreadableValue extends Error {}

const headOf = (text: string): RememberedHead => {
  const head = parseRememberedHead(text)
  if (head !== undefined) return head
  throw new UnreadableValue(
    "The remembered head must be a number, a colon and 43 characters, as it was shown for the earlier evidence."
  )
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
    passkeys: several("expect-passkeys").map(parseKnownPasskey),
    head: head === "" ? undefined : headOf(head)
  })
}
