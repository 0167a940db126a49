import type { SeededRandom } from "./SeededRandom.ts"
import { type FleetServer, pause } from "./ServerFleet.ts"
import type { SoakSettings } from "./SoakSettings.ts"

const POLL_MILLISECONDS = 10
/** Longest that a server is left alone once it serves and its kill is due. */
const LONGEST_DELAY_MILLISECONDS = 400
/** One kill in so many follows the one before at once, and so hits a process that is still starting. */
const KILLS_PER_EARLY_ONE = 5
const LONGEST_EARLY_DELAY_MILLISECONDS = 2000

const kill = async (server: FleetServer): Promise<void> => {
  while (!server.kill()) await pause(POLL_MILLISECONDS)
}

/** Kills as many processes as planned, spread over the operations, each at a random instant. */
export const killAtRandom = async (
  servers: ReadonlyArray<FleetServer>,
  settings: SoakSettings,
  done: () => number,
  random: SeededRandom
): Promise<void> => {
  let last: FleetServer | undefined
  for (let kills = 0; kills < settings.kills; kills++) {
    const due = Math.floor(((kills + random.next()) / settings.kills) * settings.operations)
    const preferred = random.integer(0, servers.length - 1)
    if (last !== undefined && (kills + 1) % KILLS_PER_EARLY_ONE === 0) {
      await pause(random.integer(0, LONGEST_EARLY_DELAY_MILLISECONDS))
      await kill(last)
      continue
    }
    while (done() < due) await pause(POLL_MILLISECONDS)
    await Promise.race(servers.map((server) => server.untilReady()))
    await pause(random.integer(0, LONGEST_DELAY_MILLISECONDS))
    // From the preferred one on, the first that serves.
    const order = [...servers.slice(preferred), ...servers.slice(0, preferred)]
    last = order.find((server) => server.isReady()) ?? order[0]
    if (last !== undefined) await kill(last)
  }
}
