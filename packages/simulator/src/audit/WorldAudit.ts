import { Exit } from "effect"
import type { RarePaths } from "../RarePaths.ts"
import type { StoreServer, StoreWatch } from "../store/StoreServer.ts"
import { DeliveryAudit } from "./DeliveryAudit.ts"
import { Findings } from "./Findings.ts"
import { MandateAudit } from "./MandateAudit.ts"

/** Watches a store, and holds each of its steps against the invariants of the service. */
export class WorldAudit implements StoreWatch {
  readonly findings = new Findings()
  readonly mandates: MandateAudit
  readonly deliveries: DeliveryAudit
  readonly #server: () => StoreServer

  constructor(rare: RarePaths, server: () => StoreServer) {
    this.#server = server
    this.mandates = new MandateAudit(this.findings, rare, server)
    this.deliveries = new DeliveryAudit(this.findings, rare, server)
  }

  readonly appended: StoreWatch["appended"] = (change, exit) => {
    this.mandates.appended(change, exit)
    const counted = this.mandates.counted(change.mandate)
    if (Exit.isFailure(exit) || counted === undefined) return
    this.deliveries.appended(change, counted, (version) => this.mandates.stateAt(change.mandate, version))
  }

  readonly leased: StoreWatch["leased"] = (query, exit) => {
    if (Exit.isSuccess(exit)) this.deliveries.leased(query, exit.value)
  }

  readonly recorded: StoreWatch["recorded"] = (ended, exit) => {
    if (Exit.isSuccess(exit)) this.deliveries.recorded(ended, exit.value)
  }

  readonly endpointChanged: StoreWatch["endpointChanged"] = (change, exit) => {
    if (Exit.isFailure(exit)) return
    this.mandates.claims.taken(change.organization, change.claims, this.#server().clock, change.next.id)
    this.deliveries.endpointChanged(change)
  }

  readonly deliveryAdded: StoreWatch["deliveryAdded"] = (addition, exit) => {
    if (Exit.isFailure(exit)) return
    const { claims, delivery, organization } = addition
    this.mandates.claims.taken(organization, claims, this.#server().clock, delivery.id)
    this.deliveries.deliveryAdded(addition)
  }

  readonly subjectReplaced: StoreWatch["subjectReplaced"] = (change, exit) => {
    if (Exit.isFailure(exit)) return
    const name = `${change.organization} ${change.subjectReference}`
    this.mandates.sessions.replaced(name, change.expected, change.next.passkeys)
  }

  readonly replicated = (): void => {
    this.mandates.replicated()
    this.deliveries.replicated()
  }

  readonly failedOver: StoreWatch["failedOver"] = (takeover) => {
    this.mandates.failedOver(takeover)
    this.deliveries.failedOver(takeover)
  }
}
