import { isSqlError } from "effect/sql/SqlError"

/*
 * Interprets the error codes of a server (PostgreSQL documentation, appendix A). The first two characters are the class.
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
 * Classes of errors that are caused by the statement and recur whenever it is sent: data exceptions, violated constraints,
 * program limits, and internal errors of the server.
 */
const OF_DATA = new Set(["21", "22", "23", "54", "XX"])

/** Whether the statement would fail again on this database in this state, so that a caller should not retry. */
export const isOfData = (sqlState: string): boolean => OF_DATA.has(classOf(sqlState))

/** Classes of errors that may lie in the session: settings that it began with, or a connection that it has lost. */
const OF_SESSION = new Set(["0A", "25", "26", "28", "3D", "3F", "42", "58", "XX"])

/** Whether a new session may succeed. */
export const isOfSession = (sqlState: string | undefined): boolean =>
  sqlState !== undefined && OF_SESSION.has(classOf(sqlState))

/** Classes of errors that affect one write alone: a conflict, a lock, a timeout. */
const OF_ONE_WRITE = new Set(["40", "55", "57"])

/** Whether a failed write suggests that the server accepts no writes at all. */
export const refusesWrites = (sqlState: string | undefined): boolean =>
  sqlState === undefined || !(OF_DATA.has(classOf(sqlState)) || OF_ONE_WRITE.has(classOf(sqlState)))
