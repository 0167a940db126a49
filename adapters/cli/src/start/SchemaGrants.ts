/** SQL that lets a role serve, for operators to run. */
import { DEFAULT_SCHEMA } from "@svc/store-postgres/connection/SchemaName"

/** What stands for a role whose name is not known. */
const SOME_ROLE = "ROLE"

/** A name as SQL has it: quoted unless it is plain. */
const identifier = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/**
 * The statements with which the owner of a schema lets a role serve from it.
 *
 * @example
 * ```ts
 * schemaGrants({ schema: "svc", role: "svc" })
 * // grant usage on schema svc to svc; grant select, insert, update, delete on all tables in schema svc to svc;
 * ```
 */
export const schemaGrants = ({
  schema = DEFAULT_SCHEMA,
  role,
  functions = false
}: {
  readonly schema?: string
  /** Absent where it is not known. */
  readonly role?: string | undefined
  /** Whether its functions are granted too, which all roles may use unless that was revoked. */
  readonly functions?: boolean
}): string => {
  const place = `schema ${identifier(schema)}`
  const grantee = role === undefined ? SOME_ROLE : identifier(role)
  return [
    `grant usage on ${place} to ${grantee};`,
    `grant select, insert, update, delete on all tables in ${place} to ${grantee};`,
    ...(functions ? [`grant execute on all functions in ${place} to ${grantee};`] : [])
  ].join(" ")
}
