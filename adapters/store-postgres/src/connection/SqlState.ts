import { isSqlError } from "effect/sql/SqlError"

/*
 * What follows from the code that a server gives for an error (PostgreSQL, appendix A). The first two characters are
 * the class.
 */

const SQL_STATE = /^[0-9A-Z]{5}$/u

/** The SQLSTATE of an error, if the server gave one. */
export const sqlStateOf = (error: unknown): string | undefined => {
  if (!isSqlError(error)) return undefined
  const { cause } = error.reason
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string" && SQL_STATE.test(code) ? code : undefined
}

const classOf = (sqlState: string): string => sqlState.slice(0, 2)

/**
 * Classes of errors that lie in what was sent, and come again whenever it is sent: data exceptions, broken constraints,
 * limits of the program, and what the server holds to be its own fault.
 */
const OF_DATA = new Set(["21", "22", "23", "54", "XX"])

/** Whether to send it again would fail again, on this database in this state: nothing that a caller should retry. */
export const isOfData = (sqlState: string): boolean => OF_DATA.has(classOf(sqlState))

/** Classes of errors that another session may not have: what this one was given when it began, or lost since. */
const OF_SESSION = new Set(["0A", "25", "26", "28", "3D", "3F", "42", "58", "XX"])

/** Whether a new session may do better. */
export const isOfSession = (sqlState: string | undefined): boolean =>
  sqlState !== undefined && OF_SESSION.has(classOf(sqlState))

/** Classes of errors that end one write among others: a conflict, a lock, a limit of time. */
const OF_ONE_WRITE = new Set(["40", "55", "57"])

/** Whether the server takes no writes, as far as one that failed can tell. */
export const refusesWrites = (sqlState: string | undefined): boolean =>
  sqlState === undefined || !(OF_DATA.has(classOf(sqlState)) || OF_ONE_WRITE.has(classOf(sqlState)))
