/** What evidence cannot prove by itself, as docs/evidence.md lists it: changes that only knowledge from elsewhere reveals. */

// biome-ignore lint/suspicious/noExplicitAny: payloads are compared as plain data
type Json = any

/** Members that follow from others: a forger sets them as the service would. */
const DERIVED =
  /^\/(?:seq|hash|previous_hash|mandate_version)$|^\/data\/usage\b|^\/data\/reasons\b(?!\/\d+\/detail$)|^\/data\/(?:execute_before|expires_at)$/u

/** Members that the holder of a signing key can set, by event, with the title under which the document lists them. */
const FREE: ReadonlyArray<readonly [title: string, type: RegExp, path: RegExp]> = [
  ["When things happened", /./u, /^\/(?:occurred_at|id)$/u],
  [
    "What callers proposed and reported",
    /^authorization\.(?:reserved|denied|indeterminate)$/u,
    /^\/authorization_id$|^\/data\/(?:external_reference|proposed_action\/.*|commitment|execution_window_seconds|report_grace_seconds)$/u
  ],
  [
    "What callers proposed and reported",
    /^authorization\.(?:committed|cancelled|expired|outcome_conflict|refund_reported)$/u,
    /^\/(?:type|source|authorization_id)$|^\/data\//u
  ],
  ["What callers proposed and reported", /^mandate\.revoked$/u, /^\/data\/reason$/u],
  ["What callers proposed and reported", /^mandate\.consumed$/u, /^\/data\/authorization_id$/u],
  ["The words of a reason", /^authorization\.(?:denied|indeterminate)$/u, /^\/data\/reasons\/\d+\/detail$/u],
  ["Who declined", /^mandate\.rejected$/u, /^\/data\/approval_session_id$/u],
  [
    "Circumstances of the approval",
    /^mandate\.approved$/u,
    /^\/data\/approval\/(?:identity\/.*|user_handle|credential\/(?:id|passkey_id|enrolled_at|enrolled_in_this_session))$/u
  ],
  ["Time zone tables of another version", /^mandate\.created$/u, /^\/data\/time_zones\//u]
]

const leavesOf = (value: Json, path = "", into = new Map<string, Json>()): ReadonlyMap<string, Json> => {
  if (typeof value === "object" && value !== null) {
    for (const name of Object.keys(value)) leavesOf(value[name], `${path}/${name}`, into)
  } else into.set(path, value)
  return into
}

const differences = (left: Json, right: Json): ReadonlyArray<string> => {
  const [ours, theirs] = [leavesOf(left), leavesOf(right)]
  return [...new Set([...ours.keys(), ...theirs.keys()])].filter(
    (path) => ours.get(path) !== theirs.get(path)
  )
}

/** A decision follows from the action and the usage that it was made on: it changes with them alone. */
const DECISION = /^\/(?:type|data\/decision)$/u
const DECISION_INPUT = /^\/data\/(?:proposed_action|usage)\//u

const changesOf = (genuine: Json, event: Json, isApproved: boolean): ReadonlyArray<string> => {
  const paths = differences(genuine, event)
  const isOtherDecision = paths.some((path) => DECISION_INPUT.test(path))
  return paths
    .filter((path) => !DERIVED.test(path) && !(isOtherDecision && DECISION.test(path)))
    .map((path) => {
      const found = FREE.find(([, type, free]) => type.test(event.type) && free.test(path))
      if (found !== undefined) return found[0]
      if (event.type === "mandate.created" && !isApproved) return "Terms that nobody approved"
      return `${event.type}${path}`
    })
}

const approvalIn = (payload: Json): Json =>
  payload.events.find((event: Json) => event.type === "mandate.approved")?.data.approval

/**
 * Under which titles of the document a forgery falls that was accepted. One that the document does not list comes out as the
 * member that it changed.
 */
export const unprovableOf = (genuine: Json, forged: Json): ReadonlySet<string> => {
  const approval = approvalIn(forged)
  const original = approvalIn(genuine)
  if (approval !== undefined && approval.credential.public_key !== original?.credential.public_key) {
    return new Set(["Who the approver is"])
  }
  const known = new Map<string, Json>(genuine.events.map((event: Json) => [event.id, event]))
  const titles = forged.events.flatMap((event: Json, index: number) => {
    const before = known.get(event.id) ?? (index === 0 ? genuine.events[0] : undefined)
    known.delete(event.id)
    return before === undefined
      ? ["Whether events are missing"]
      : changesOf(before, event, approval !== undefined)
  })
  if (known.size > 0) titles.push("Whether events are missing")
  if (forged.generated_at !== genuine.generated_at) titles.push("When it was generated")
  return new Set(titles)
}
