/**
 * Somebody who has a signing key of the service and wants evidence to say something else: changes payloads in ways that could
 * pay off, mends what can be mended, and signs again.
 */
import { evolveAll } from "@svc/domain/mandate/Evolve"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import { mandateRecordOf } from "@svc/domain/mandate/MandateResource"
import type { StreamState } from "@svc/domain/mandate/MandateState"
import { usageAt } from "@svc/domain/mandate/Usage"
import { sealEventText } from "@svc/protocol/evidence/EventHash"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import {
  approvalOf,
  at,
  CREATED,
  GENERATED,
  HOUR,
  identifierOf,
  longLife,
  makeDevice,
  recurringBody,
  SECOND,
  singleBody,
  tellJournal,
  termsOf
} from "@svc/testkit/EvidenceMaker"

// biome-ignore lint/suspicious/noExplicitAny: payloads are taken apart and put together as plain data
type Json = any

/** A draw of whole numbers below a bound that repeats for a seed. */
export const drawsOf = (seed: number): ((bound: number) => number) => {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

type Draw = ReturnType<typeof drawsOf>

const pick = <A>(draw: Draw, list: ReadonlyArray<A>): A => list[draw(list.length)]!

const copy = (value: Json): Json => JSON.parse(JSON.stringify(value))

const single = () => {
  const journal = tellJournal(termsOf(singleBody(), identifierOf("mnd_", 2)))
  journal.approve(CREATED + HOUR)
  const now = at("2026-12-05T08:00:00Z")
  journal.propose(21, now, { amount: 5001 })
  journal.propose(22, now, { amount: 4000, grace: 120 })
  journal.propose(23, now + SECOND)
  journal.commit(22, now + 2n * SECOND)
  journal.propose(24, now + HOUR)
  return journal
}

const revoked = () => {
  const policy = { periods: [{ unit: "WEEK", time_zone: "America/New_York", max_executions: 2 }] }
  const journal = tellJournal(termsOf(recurringBody(policy), identifierOf("mnd_", 3)))
  journal.approve(CREATED + HOUR)
  const now = at("2026-12-07T12:00:00Z")
  for (const number of [31, 32, 33]) journal.propose(number, now + BigInt(number) * SECOND)
  journal.tell({ _tag: "Revoke", reason: "The user closed the account." }, now + HOUR)
  return journal
}

const unapproved = () => tellJournal(termsOf(recurringBody(), identifierOf("mnd_", 4)))

/** Payloads of genuine evidence, to be forged. */
export const genuinePayloads: ReadonlyArray<Json> = [
  JSON.parse(longLife().payload(GENERATED)),
  JSON.parse(single().payload(at("2026-12-06T00:00:00Z"))),
  JSON.parse(revoked().payload(at("2026-12-07T13:05:00Z"))),
  JSON.parse(unapproved().payload(CREATED + HOUR))
]

/** Numbers and chains the events anew, and sets the head. */
const rechain = (payload: Json): void => {
  let previous: string | undefined
  payload.events = payload.events.map((event: Json, index: number) => {
    const { hash: _, previous_hash: __, ...rest } = event
    const own = { ...rest, seq: index + 1, ...(previous === undefined ? {} : { previous_hash: previous }) }
    const { hash, text } = sealEventText(own)
    previous = hash
    return JSON.parse(text)
  })
  const last = payload.events.at(-1)
  payload.head = { seq: last?.seq ?? 1, hash: last?.hash ?? "" }
}

/** Sets what follows from the events as the service would: versions, the usage of decisions, the mandate. */
const refold = (payload: Json): void => {
  let fact = undefined as unknown as JournalFact
  const states = evolveAll(
    (function* () {
      for (;;) yield fact
    })()
  )
  let state: StreamState | undefined
  for (const event of payload.events) {
    if (state !== undefined && event.data?.usage !== undefined) {
      event.data.usage = usageAt(state.mandate, parseTimestamp(event.occurred_at)!)
    }
    fact = event
    state = states.next().value as StreamState
    event.mandate_version = state.mandate.version
  }
  if (state === undefined) return
  payload.mandate = mandateRecordOf(state.mandate)
  payload.organization_id = state.mandate.terms.organization_id
  payload.environment = state.mandate.terms.environment
}

/** Every place of a value: how to read it and how to set it. */
const placesIn = (value: Json, path = ""): Array<{ path: string; holder: Json; name: string }> =>
  typeof value !== "object" || value === null
    ? []
    : Object.keys(value).flatMap((name) => [
        { path: `${path}/${name}`, holder: value, name },
        ...placesIn(value[name], `${path}/${name}`)
      ])

const changed = (draw: Draw, value: Json): Json => {
  if (typeof value === "number") return pick(draw, [value + 1, value - 1, value * 2, 0, -value, 1_000_000])
  if (typeof value === "boolean") return !value
  if (typeof value !== "string") return pick(draw, [null, [], {}, "x"])
  const index = draw(Math.max(1, value.length))
  const character = pick(draw, [..."0123456789ABCabcZ-_ "])
  return pick(draw, [
    value.slice(0, index) + character + value.slice(index + 1),
    value.slice(0, index) + value.slice(index + 1),
    `${value}x`,
    "",
    "2026-12-05T08:00:00.000000000Z",
    "ALLOW"
  ])
}

const changeOnePlace = (draw: Draw, value: Json): void => {
  const places = placesIn(value)
  if (places.length === 0) return
  const { holder, name } = pick(draw, places)
  const how = draw(8)
  if (how === 0) delete holder[name]
  else if (how === 1) holder[`${name}_too`] = holder[name]
  else holder[name] = changed(draw, holder[name])
}

const indexOf = (draw: Draw, payload: Json): number => draw(payload.events.length)

const eventsOf = (payload: Json, ...types: ReadonlyArray<string>): ReadonlyArray<Json> =>
  payload.events.filter((event: Json) => types.includes(event.type))

const swap = (draw: Draw, list: ReadonlyArray<Json>, member: string): void => {
  if (list.length < 2) return
  const first = draw(list.length)
  const second = (first + 1 + draw(list.length - 1)) % list.length
  const { [member]: held } = list[first].data
  list[first].data[member] = list[second].data[member]
  list[second].data[member] = held
}

const shifted = (text: string, nanos: bigint): string => {
  const instant = parseTimestamp(text)
  if (instant === undefined) return text
  const moved = instant + nanos
  const second = new Date(Number(moved / SECOND) * 1000).toISOString().slice(0, 19)
  return `${second}.${(moved % SECOND).toString().padStart(9, "0")}Z`
}

const ALL_DECISIONS = ["authorization.reserved", "authorization.denied", "authorization.indeterminate"]

type Forge = (payload: Json, draw: Draw) => void

const flipBitOf = (draw: Draw, text: string): string => {
  const bytes = Buffer.from(text, "base64url")
  const index = draw(bytes.length)
  bytes[index] = bytes[index]! ^ (1 << draw(8))
  return bytes.toString("base64url")
}

const widened: Forge = (payload, draw) => {
  const { data } = payload.events[0]
  const { policy, window } = data
  pick(draw, [
    () => {
      policy.max_amount = 1_000_000
    },
    () => {
      policy.max_total_amount = 9_000_000
    },
    () => {
      for (const period of policy.periods ?? [policy]) period.max_amount = 9_000_000
    },
    () => policy.allowed_merchants?.push("mrc_43"),
    () => policy.allowed_actions.push("cash.out"),
    () => {
      window.ends_at = "2030-01-01T00:00:00Z"
    },
    () => {
      delete policy.allowed_merchants
    }
  ])()
  data.policy_digest = policyDigest(policy)
}

/** Kinds of forgery, each a change of a payload. */
export const FORGERIES: Readonly<Record<string, Forge>> = {
  "drop an event": (payload, draw) => payload.events.splice(indexOf(draw, payload), 1),
  "drop several events": (payload, draw) => payload.events.splice(indexOf(draw, payload), 1 + draw(4)),
  "drop an authorization": (payload, draw) => {
    const { authorization_id } = pick(draw, payload.events as ReadonlyArray<Json>)
    payload.events = payload.events.filter((event: Json) => event.authorization_id !== authorization_id)
  },
  "drop all events": (payload) => {
    payload.events = []
  },
  "cut the tail off": (payload, draw) => {
    payload.events = payload.events.slice(0, 1 + indexOf(draw, payload))
    if (draw(2) === 0) payload.generated_at = payload.events.at(-1).occurred_at
  },
  reorder: (payload, draw) => {
    const [event] = payload.events.splice(indexOf(draw, payload), 1)
    payload.events.splice(indexOf(draw, payload), 0, event)
  },
  duplicate: (payload, draw) => {
    const event = { ...copy(pick(draw, payload.events)), id: identifierOf("evt_", 5000 + draw(1000)) }
    payload.events.splice(1 + indexOf(draw, payload), 0, event)
  },
  "edit an event": (payload, draw) => changeOnePlace(draw, pick(draw, payload.events)),
  "edit two events": (payload, draw) => {
    changeOnePlace(draw, pick(draw, payload.events))
    changeOnePlace(draw, pick(draw, payload.events))
  },
  "edit the payload": (payload, draw) => {
    const { events: _, ...rest } = payload
    changeOnePlace(draw, rest)
    Object.assign(payload, rest)
  },
  "edit the mandate": (payload, draw) => changeOnePlace(draw, payload.mandate),
  "edit the approval": (payload, draw) => {
    const [approved] = eventsOf(payload, "mandate.approved")
    if (approved !== undefined) changeOnePlace(draw, approved.data.approval)
  },
  "flip a bit of the approval": (payload, draw) => {
    const [approved] = eventsOf(payload, "mandate.approved")
    if (approved === undefined) return
    const { approval } = approved.data
    const holder = draw(4) === 0 ? approval.credential : approval
    const member =
      holder === approval ? pick(draw, ["signature", "authenticator_data", "client_data_json"]) : "public_key"
    holder[member] = flipBitOf(draw, holder[member])
  },
  "transplant an approval": (payload, draw) => {
    const [other] = eventsOf(pick(draw, genuinePayloads), "mandate.approved")
    const [approved] = eventsOf(payload, "mandate.approved")
    if (approved !== undefined && other !== undefined) approved.data = copy(other.data)
  },
  "transplant an event": (payload, draw) => {
    const event = copy(pick(draw, pick(draw, genuinePayloads).events))
    payload.events.splice(indexOf(draw, payload), draw(2), event)
  },
  "transplant to another tenant": (payload, draw) => {
    const organization = identifierOf("mnd_", draw(100)).replace("mnd_", "org_")
    payload.organization_id = organization
    payload.events[0].data.organization_id = organization
  },
  "widen the policy": widened,
  "widen the policy and the statement": (payload, draw) => {
    widened(payload, draw)
    const [approved] = eventsOf(payload, "mandate.approved")
    const { policy, policy_digest, window } = payload.events[0].data
    if (approved !== undefined)
      Object.assign(approved.data.approval.statement, { policy, policy_digest, window })
  },
  "widen the policy and approve it with another passkey": (payload, draw) => {
    widened(payload, draw)
    const [approved] = eventsOf(payload, "mandate.approved")
    if (approved !== undefined) {
      approved.data.approval = approvalOf(payload.events[0].data, makeDevice(100 + draw(5)))
    }
  },
  "shift a time zone table": (payload, draw) => {
    const table = pick(draw, payload.events[0].data.time_zones as ReadonlyArray<Json>)
    if (table === undefined) return
    pick(draw, [
      () => {
        table.offset_seconds += 3600
      },
      () => {
        for (const transition of table.transitions) transition.offset_seconds -= 7200
      },
      () => table.transitions.pop(),
      () => {
        table.transitions = [{ at: "2026-12-20T00:00:00Z", offset_seconds: 14 * 3600 }]
      },
      () => {
        table.tzdb_version = pick(draw, ["9999z", "2031a"])
        table.transitions = [{ at: "2026-12-20T00:00:00Z", offset_seconds: 14 * 3600 }]
      }
    ])()
  },
  "swap openings": (payload, draw) =>
    swap(draw, eventsOf(payload, "authorization.committed"), "commitment_opening"),
  "swap commitments": (payload, draw) => swap(draw, eventsOf(payload, ...ALL_DECISIONS), "commitment"),
  "swap actions": (payload, draw) => swap(draw, eventsOf(payload, ...ALL_DECISIONS), "proposed_action"),
  "allow what was refused": (payload, draw) => {
    const refused = pick(draw, eventsOf(payload, ALL_DECISIONS[1]!, ALL_DECISIONS[2]!))
    if (refused === undefined) return
    refused.type = ALL_DECISIONS[0]
    const deadline = shifted(refused.occurred_at, BigInt(refused.data.execution_window_seconds) * SECOND)
    const granted = { execute_before: deadline, expires_at: deadline, report_grace_seconds: 0 }
    Object.assign(refused.data, { decision: "ALLOW", reasons: [], ...granted })
  },
  "refuse what was allowed": (payload, draw) => {
    const allowed = pick(draw, eventsOf(payload, ALL_DECISIONS[0]!))
    if (allowed === undefined) return
    const { execute_before: _, expires_at: __, report_grace_seconds: ___, ...data } = allowed.data
    const reason = { code: "AMOUNT_ABOVE_MAXIMUM", pointer: "/proposed_action/payment/amount", detail: "" }
    Object.assign(allowed, { type: ALL_DECISIONS[1], data: { ...data, decision: "DENY", reasons: [reason] } })
  },
  "another amount": (payload, draw) => {
    const decision = pick(draw, eventsOf(payload, ...ALL_DECISIONS))
    if (decision !== undefined) decision.data.proposed_action.payment.amount = 1 + draw(6000)
  },
  "another deadline": (payload, draw) => {
    const decision = pick(draw, eventsOf(payload, ALL_DECISIONS[0]!))
    if (decision === undefined) return
    const member = pick(draw, ["execute_before", "expires_at"])
    decision.data[member] = shifted(decision.data[member], BigInt(1 + draw(7200)) * SECOND)
  },
  "another time": (payload, draw) => {
    const event = pick(draw, payload.events as ReadonlyArray<Json>)
    event.occurred_at = shifted(event.occurred_at, BigInt(draw(4000) - 2000) * SECOND)
  },
  "another source": (payload, draw) => {
    const event = pick(draw, payload.events as ReadonlyArray<Json>)
    event.source = event.source === "SERVICE_VERIFIED" ? "CALLER_REPORTED" : "SERVICE_VERIFIED"
  },
  "generated at another time": (payload, draw) => {
    payload.generated_at = shifted(payload.generated_at, BigInt(draw(20_000_000) - 10_000_000) * SECOND)
  }
}

export interface Forged {
  readonly kind: string
  /** What was mended after the change: nothing, the chain, or everything that follows from the events. */
  readonly mended: "nothing" | "chain" | "everything"
  readonly genuine: Json
  readonly payload: Json
}

/** Makes what follows from the events fit them, as well as can be, or the chain alone. */
export const mend = (draft: Json, mended: Forged["mended"]): Json => {
  // What is deleted from a list leaves a hole, which JSON has not.
  const mending = copy(draft)
  try {
    if (mended === "everything") refold(mending)
    if (mended !== "nothing") rechain(mending)
  } catch {
    // What cannot be folded or hashed is signed as it is.
  }
  return copy(mending)
}

/** The n-th forgery; undefined if the change came to nothing. */
export const forge = (number: number): Forged | undefined => {
  const draw = drawsOf(number)
  const kinds = Object.keys(FORGERIES)
  const kind = kinds[number % kinds.length]!
  const genuine = genuinePayloads[Math.floor(number / kinds.length) % genuinePayloads.length]
  const mended = pick(draw, ["nothing", "chain", "everything", "everything"] as const)
  const draft = copy(genuine)
  FORGERIES[kind]!(draft, draw)
  const payload = mend(draft, mended)
  const isSame = canonicalJson(payload) === canonicalJson(genuine)
  return isSame ? undefined : { kind, mended, genuine, payload }
}
