/** A fault planted in one rule: an edit of one place in one source file. */
export interface Mutant {
  readonly name: string
  /** The file, from the root of the repository. */
  readonly file: string
  /** Found exactly once in the file. */
  readonly find: string
  readonly replace: string
}

const DECIDE = "packages/domain/src/mandate/Decide.ts"
const EVOLVE = "packages/domain/src/mandate/Evolve.ts"
const DUE = "packages/domain/src/mandate/ApplyDue.ts"
const COUNTERS = "packages/domain/src/mandate/Counters.ts"
const POLICY = "packages/domain/src/policy/PolicyEvaluation.ts"
const PERIODS = "packages/domain/src/calendar/PeriodGeometry.ts"
const APPEND_FACTS = "packages/domain/src/engine/AppendFacts.ts"
const BATCH = "packages/domain/src/engine/CommandBatch.ts"
const ADMISSION = "packages/domain/src/engine/ChangeAdmission.ts"
const KEY = "packages/domain/src/engine/IdempotencyKey.ts"
const READ = "packages/domain/src/engine/ReadStream.ts"
const SESSIONS = "packages/domain/src/approval/SessionLifecycle.ts"
const DELIVERY = "packages/domain/src/webhook/WebhookDelivery.ts"
const ENDPOINT = "packages/domain/src/webhook/WebhookEndpoint.ts"
const SCHEDULE = "packages/domain/src/webhook/DeliverySchedule.ts"
const MEMORY_APPEND = "adapters/store-memory/src/MemoryAppend.ts"
const MEMORY_READS = "adapters/store-memory/src/MemoryReads.ts"
const MEMORY_STATE = "adapters/store-memory/src/MemoryState.ts"
const MEMORY_WEBHOOKS = "adapters/store-memory/src/MemoryWebhooks.ts"

/** Each breaks one rule of the domain, the engine or a store. */
export const MUTANTS: ReadonlyArray<Mutant> = [
  {
    name: "a total budget is checked without the amount asked for",
    file: POLICY,
    find: "used + counters.reservedAmount + BigInt(requested) <= BigInt(limit)",
    replace: "used + counters.reservedAmount <= BigInt(limit)"
  },
  {
    name: "reserved amounts do not count against a budget",
    file: POLICY,
    find: "used + counters.reservedAmount + BigInt(requested)",
    replace: "used + BigInt(requested)"
  },
  {
    name: "late amounts do not count against a budget",
    file: POLICY,
    find: "const used = counters.committedAmount + counters.lateAmount",
    replace: "const used = counters.committedAmount"
  },
  {
    name: "one execution more than the cap",
    file: POLICY,
    find: "used + counters.reservedExecutions + 1 <= limit",
    replace: "used + counters.reservedExecutions <= limit"
  },
  {
    name: "a single-use mandate may have two open authorizations",
    file: POLICY,
    find: "if (open.length > 0) {",
    replace: "if (open.length > 1) {"
  },
  {
    name: "amounts above the maximum pass",
    file: POLICY,
    find: "if (amount > policy.max_amount) {",
    replace: "if (amount > policy.max_amount + 500) {"
  },
  {
    name: "an undecidable rule denies",
    file: POLICY,
    find: `? "INDETERMINATE"`,
    replace: `? "DENY"`
  },
  {
    name: "the first period is never prorated",
    file: PERIODS,
    find: `rule.first_period === "PRORATED"`,
    replace: `rule.first_period === ("NEVER" as string)`
  },
  {
    name: "a reservation holds nothing in its periods",
    file: EVOLVE,
    find: "mandate: use(counted, pins, (counters) => reserve(counters, opened.amount))",
    replace: "mandate: use(counted, [], (counters) => reserve(counters, opened.amount))"
  },
  {
    name: "a commit releases its reservation and counts nothing",
    file: COUNTERS,
    find: "committedAmount: released.committedAmount + amount",
    replace: "committedAmount: released.committedAmount"
  },
  {
    name: "every late report counts, not the first alone",
    file: DECIDE,
    find: "    !authorization.late\n",
    replace: "    true\n"
  },
  {
    name: "late reports do not count",
    file: DECIDE,
    find: `report.reported === "COMMITTED" &&`,
    replace: `report.reported === ("NEVER" as string) &&`
  },
  {
    name: "the grace for reports is forgotten",
    file: DECIDE,
    find: "formatNanos(instantOf(execute_before) + grace)",
    replace: "execute_before"
  },
  {
    name: "a refund may exceed what was committed",
    file: DECIDE,
    find: "if (refunded + BigInt(given.amount) > BigInt(payment.amount))",
    replace: "if (BigInt(given.amount) > BigInt(payment.amount))"
  },
  {
    name: "authorizations expire in order of creation, whatever their deadlines",
    file: DUE,
    find: "if (entry.expiresAt < first!.expiresAt) first = entry",
    replace: "if (entry.expiresAt < 0n) first = entry"
  },
  {
    name: "decisions may be recorded at any time",
    file: APPEND_FACTS,
    find: "at !== undefined && at < least ? at : least",
    replace: "at !== undefined && at < 0n ? at : least"
  },
  {
    name: "decisions live for a minute",
    file: APPEND_FACTS,
    find: "const DECISION_LIFETIME_SECONDS = 5n",
    replace: "const DECISION_LIFETIME_SECONDS = 60n"
  },
  {
    name: "commands in one append are all decided on the state before the first",
    file: BATCH,
    find: "command.decide(batch.end.state, ",
    replace: "command.decide(batch.current.state, "
  },
  {
    name: "a commitment may be used twice in one append or later",
    file: BATCH,
    find: '...commitments.map((claim) => ({ ...claim, fingerprint: "", resource }))',
    replace: '...commitments.slice(1).map((claim) => ({ ...claim, fingerprint: "", resource }))'
  },
  {
    name: "what is known is replied to without an append",
    file: BATCH,
    find: "  if (!outcomes.every(Exit.isSuccess)) return undefined\n",
    replace: "  if (!outcomes.every(Exit.isSuccess)) return outcomes\n"
  },
  {
    name: "what is due is decided on what is known",
    file: BATCH,
    find: "  if (hasChangedSince(stream, lastRead, now)) return undefined\n",
    replace: ""
  },
  {
    name: "a key is not claimed",
    file: BATCH,
    find: "...(command.key === undefined ? [] : [command.key.claim(resource)]),",
    replace: "...(command.key === undefined || Math.abs(1) === 1 ? [] : [command.key.claim(resource)]),"
  },
  {
    name: "what is due is shown before it is recorded",
    file: READ,
    find: "  if (due.length === 0) return { head, now, state }",
    replace: "  if (due.length >= 0) return { head, now, state }"
  },
  {
    name: "a key stands for whatever is sent under it",
    file: KEY,
    find: "held.fingerprint === fingerprint ? Exit.void",
    replace: 'held.fingerprint !== "" ? Exit.void'
  },
  {
    name: "a new session leaves the earlier one open",
    file: SESSIONS,
    find: `? [{ ...last, state: "SUPERSEDED" }] : []`,
    replace: "? [] : []"
  },
  {
    name: "workers are lost before their leases run out",
    file: DELIVERY,
    find: "open !== undefined && open.expiresAt <= now",
    replace: "open !== undefined && open.expiresAt - 50_000_000_000n <= now"
  },
  {
    name: "redirects count as delivered",
    file: DELIVERY,
    find: "status >= 200 && status <= 299",
    replace: "status >= 200 && status <= 399"
  },
  {
    name: "success does not reset the failed attempts",
    file: ENDPOINT,
    find: "      consecutiveFailedAttempts: 0,\n      consecutiveExhaustedDeliveries: attempt",
    replace:
      "      consecutiveFailedAttempts: endpoint.consecutiveFailedAttempts,\n      consecutiveExhaustedDeliveries: attempt"
  },
  {
    name: "retries come at once",
    file: SCHEDULE,
    find: "const FIRST_DELAY_MS = 30_000",
    replace: "const FIRST_DELAY_MS = 300"
  },
  {
    name: "changes are admitted on any revision",
    file: ADMISSION,
    find: "if (revision !== change.expected) return new Stale()",
    replace: "if (revision === undefined) return new Stale()"
  },
  {
    name: "changes are admitted out of time",
    file: ADMISSION,
    find: "if (now >= change.recordBefore) return new OutOfTime()",
    replace: "if (now < 0n) return new OutOfTime()"
  },
  {
    name: "the memory store records nothing of a subject",
    file: MEMORY_APPEND,
    find: "tenant.subjects.set(reference, deepFreeze({ ...next, revision }))",
    replace: "tenant.subjects.set(reference, deepFreeze({ ...next, passkeys: [], revision }))"
  },
  {
    name: "the memory store keeps closed reservations open",
    file: MEMORY_APPEND,
    find: "  stream.open = open\n",
    replace: "  stream.open = open.length === 0 ? stream.open : open\n"
  },
  {
    name: "the memory store reads a clock behind the last event",
    file: MEMORY_READS,
    find: "const now = stream === undefined ? clock : laterOf(clock, stream.head.occurredAt)",
    replace: "const now = stream === undefined ? clock : clock - 1_000_000_000n"
  },
  {
    name: "the memory store records ends of attempts without their leases",
    file: MEMORY_WEBHOOKS,
    find: "if (!deliveries.every(isOpen)) return undefined",
    replace: "if (deliveries.length === 0 && deliveries.every(isOpen)) return undefined"
  },
  {
    name: "the memory store changes endpoints on any revision",
    file: MEMORY_WEBHOOKS,
    find: `if ((known?.revision ?? "absent") !== change.expected) return`,
    replace: `if (known === undefined && change.expected !== "absent") return`
  },
  {
    name: "revisions that a failover lost are given again",
    file: MEMORY_STATE,
    find: "return Math.max(revision + 1, this.revisionsFrom)",
    replace: "return revision + 1"
  },
  {
    name: "the memory store leases what is under way again",
    file: DELIVERY,
    find: "  delivery.open === undefined &&\n",
    replace: ""
  },
  {
    name: "a commit may open another commitment",
    file: DECIDE,
    find: "opening === undefined || !openingMatches(opening, authorization.commitment)",
    replace: "opening === undefined"
  }
]
