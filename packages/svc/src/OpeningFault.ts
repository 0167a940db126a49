type Tagged = { readonly _tag?: unknown; readonly [name: string]: unknown }

/** What the errors of stores, which are for programs, do not say in words. */
const WORDS: Readonly<Record<string, (fault: Tagged) => string>> = {
  FolderHeld: () => "another process, or another service of this one, holds the folder",
  FolderUnusable: () => "the folder cannot be used: it must be a folder that this process may write",
  FolderExposed: () => "other users can read the folder, and it cannot be closed to them",
  PgliteUnusable: () => "the folder does not hold a database that opens",
  SealBroken: () => "the masterKey is not the one that secrets in this store were sealed under",
  HostSessionUnsuitable: ({ detail }) => String(detail),
  DatabaseUnsuitable: ({ faults }) =>
    Array.isArray(faults) ? faults.join(" ") : "the database is not suitable",
  MigrationsPending: ({ pending }) =>
    `the schema lacks ${Array.isArray(pending) ? pending.join(", ") : "steps"}: open the store once with migrations: "run"`,
  PartitionsDiffer: ({ expected, present }) =>
    `the schema was made with partitions: ${String(present)}, and ${String(expected)} are asked for`,
  RootCertificateUnreadable: ({ file }) =>
    `the file ${String(file)}, which url names as sslrootcert, cannot be read`,
  KeyManagementRefused: ({ detail }) => `the signing key: ${String(detail)}`,
  ExternalSignatureInvalid: ({ detail }) => String(detail),
  IdentityKeysUnsuitable: ({ fault, organization }) =>
    `the identity keys of the organization ${String(organization)} cannot be used: ${String(fault)}`,
  OtherEnvironment: ({ environment, organization }) =>
    `the organization ${organization} is one of the ${environment} environment in this store, and what was approved there must not count here: use another store, or another organization`
}

const wordsOf = (fault: unknown): string => {
  if (typeof fault !== "object" || fault === null) return String(fault)
  const { _tag: tag } = fault as Tagged
  const words = typeof tag === "string" ? WORDS[tag] : undefined
  if (words !== undefined) return words(fault as Tagged)
  return fault instanceof Error && fault.message !== "" ? fault.message : String(tag ?? "unknown fault")
}

/** Causes that are followed: drivers wrap what the server said. */
const MAX_CAUSES = 8

/** What is behind a fault: the message of its innermost cause, such as that a password is wrong. */
const behind = (fault: unknown): string => {
  let innermost = fault
  for (let count = 0; count < MAX_CAUSES; count++) {
    const cause = (innermost as { readonly cause?: unknown } | null | undefined)?.cause
    if (typeof cause !== "object" || cause === null) break
    innermost = cause
  }
  if (innermost === fault || !(innermost instanceof Error)) return ""
  const { code, message } = innermost as Error & { readonly code?: unknown }
  const words = message === "" ? String(code ?? "") : message
  return words === "" || wordsOf(fault).includes(words) ? "" : ` (${words})`
}

/** The error of a store that cannot be opened, in words; its `cause` is the fault itself. */
export const openingFault = (fault: unknown): Error =>
  new Error(`the store cannot be opened: ${wordsOf(fault)}${behind(fault)}`, { cause: fault })
