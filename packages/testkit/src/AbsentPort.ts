import type { PortName } from "./store-contract/PortNames.ts"

/** A store was asked for what it does not bring. */
export class PortAbsent extends Error {
  override readonly name = "PortAbsent"
  readonly port: PortName

  constructor(port: PortName) {
    super(`the store does not bring ${port}`)
    this.port = port
  }
}

/** Stands in for a port that a store does not bring: whatever is asked of it throws. */
export const absentPort = <Service extends object>(port: PortName): Service =>
  new Proxy({} as Service, {
    get: () => {
      throw new PortAbsent(port)
    }
  })

/** The port that an error says is absent. */
export const absentPortOf = (error: unknown): PortName | undefined =>
  error instanceof PortAbsent ? error.port : undefined
