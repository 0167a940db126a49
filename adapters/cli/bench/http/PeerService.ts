import { randomBytes } from "node:crypto"
import { openDatabase } from "../Database.ts"
import { endOf, saidBy, startProgram } from "./Child.ts"
import { type HttpSystem, usageFaults } from "./HttpSystem.ts"
import { AMOUNT } from "./Load.ts"
import { hashOf } from "./peer/Decisions.ts"
import type { PeerOptions } from "./peer/PeerProgram.ts"
import { INSERT_MANDATES, PEER_TABLES } from "./peer/PeerTables.ts"

const ORGANIZATION = "org_peer"

type Query = ReturnType<typeof openDatabase>

/** Mandates whose chain of events does not end in the hash that the mandate has. */
const chainFaults = async (query: Query, mandates: Iterable<string>): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  for (const mandate of mandates) {
    const events = (await query(
      "select hash, text from event where organization = $1::text and mandate = $2::text order by seq",
      [ORGANIZATION, mandate]
    )) as ReadonlyArray<{ readonly hash: string; readonly text: string }>
    const [row] = (await query("select head from mandate where organization = $1::text and id = $2::text", [
      ORGANIZATION,
      mandate
    ])) as ReadonlyArray<{ readonly head: string }>
    const head = events.reduce((previous, { text }) => hashOf(previous, text), "")
    if (row?.head !== head || events.at(-1)?.hash !== head)
      faults.push(`${mandate} has a broken chain of events`)
  }
  return faults
}

/** Mandates whose committed authorizations are not as many as the pairs. */
const rowFaults = async (
  query: Query,
  pairs: ReadonlyMap<string, number>
): Promise<ReadonlyArray<string>> => {
  const rows = (await query(
    "select mandate, state, count(*)::int as count from authorization_row group by mandate, state"
  )) as ReadonlyArray<{ readonly mandate: string; readonly state: string; readonly count: number }>
  return rows
    .filter(({ count, mandate, state }) => state !== "COMMITTED" || count !== pairs.get(mandate))
    .map(({ count, mandate, state }) => `${mandate} has ${count} ${state} after ${pairs.get(mandate)} pairs`)
}

/** The hand-written service at an empty database, in which it gets its tables and the mandates. */
export const startPeer = async (
  databaseUrl: string,
  mandates: ReadonlyArray<string>,
  isGrouped: boolean,
  log: number
): Promise<HttpSystem & { readonly stop: () => Promise<void> }> => {
  const query = openDatabase(databaseUrl)
  for (const statement of PEER_TABLES.split(";").filter((text) => text.trim() !== "")) await query(statement)
  await query(INSERT_MANDATES, [ORGANIZATION, JSON.stringify(mandates)])
  const apiKey = randomBytes(32).toString("base64url")
  const options: PeerOptions = { databaseUrl, organization: ORGANIZATION, apiKey, isGrouped }
  const child = startProgram("./peer/PeerProgram.ts", [JSON.stringify(options)], log)
  const port = Number(await saidBy(child))
  return {
    port,
    pid: child.pid!,
    apiKey,
    settle: () => Promise.resolve(),
    recount: async (pairs) => [
      ...(await usageFaults({ port, apiKey }, pairs, AMOUNT)),
      ...(await rowFaults(query, pairs)),
      ...(await chainFaults(query, pairs.keys()))
    ],
    stop: () => {
      child.disconnect()
      return endOf(child)
    }
  }
}
