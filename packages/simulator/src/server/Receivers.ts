import { TargetRefused, WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import type { AttemptResult } from "@svc/domain/webhook/WebhookDelivery"
import { Effect } from "effect"
import type { DeliveryAudit } from "../audit/DeliveryAudit.ts"
import type { RarePaths } from "../RarePaths.ts"
import type { Host } from "../time/Host.ts"
import { MILLISECOND, type Micros, SECOND } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"

/** How a receiver responds. `lossy`: it accepts, and its response is lost on the way. */
export type Mood = "healthy" | "failing" | "slow" | "lossy" | "unreachable" | "fickle"

const MOODS: ReadonlyArray<Mood> = ["healthy", "failing", "failing", "slow", "lossy", "unreachable", "fickle"]
/** Longest that an attempt may take (part 8). */
const ATTEMPT_TIMEOUT: Micros = 15 * SECOND

interface ReceiverOptions {
  readonly audit: DeliveryAudit
  readonly rare: RarePaths
  readonly random: SeededRandom
  readonly time: SimulatedTime
}

const inMilliseconds = (micros: Micros): number => Math.ceil(micros / MILLISECOND)

/** The receivers of webhooks, by URL. */
export class Receivers {
  readonly #moods = new Map<string, Mood>()
  /** Whether receivers change their moods at all. */
  isCalm = false
  readonly #options: ReceiverOptions

  constructor(options: ReceiverOptions) {
    this.#options = options
  }

  changeMood(): void {
    const { random } = this.#options
    const urls = [...this.#moods.keys()]
    if (urls.length > 0) this.#moods.set(random.pick(urls), random.pick(MOODS))
  }

  /** The transport of one process. */
  transportOf(host: Host): WebhookTransport["Service"] {
    return WebhookTransport.of({
      check: (url) =>
        url.includes(".invalid")
          ? Effect.fail(new TargetRefused({ reason: "address_not_public" }))
          : Effect.void,
      deliver: ({ body, headers, url }) =>
        Effect.callback<AttemptResult>((resume) => {
          const text = new TextDecoder().decode(body)
          this.#send(host, { url, headers, body: text }, (result) => resume(Effect.succeed(result)))
        })
    })
  }

  #send(
    host: Host,
    post: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
    respond: (result: AttemptResult) => void
  ): void {
    const { random, time } = this.#options
    const mood = this.#moodOf(post.url)
    const isSlow = mood === "slow" || (mood === "failing" && random.chance(0.3))
    const takes = isSlow
      ? random.integer(SECOND, 2 * ATTEMPT_TIMEOUT)
      : random.integer(MILLISECOND, 80 * MILLISECOND)
    const answer = (result: Omit<AttemptResult, "durationMs">, after: Micros) =>
      time.after(after, `${host.name} webhook response`, host, () =>
        respond({ ...result, durationMs: inMilliseconds(after) })
      )
    if (mood === "unreachable") {
      answer({ error: random.pick(["connection_failed", "tls_failed", "target_refused"] as const) }, takes)
      return
    }
    const isTooLate = takes >= ATTEMPT_TIMEOUT
    const isLost = mood === "lossy" && random.chance(0.5)
    const status = mood === "failing" ? random.pick([500, 503, 410, 302]) : 204
    time.after(Math.floor(takes / 2), "webhook", undefined, () => this.#arrive(post, status))
    if (isTooLate) answer({ error: "timeout" }, ATTEMPT_TIMEOUT)
    else answer(isLost ? { error: "response_invalid" } : { status }, takes)
  }

  #moodOf(url: string): Mood {
    const mood = this.#moods.get(url) ?? "healthy"
    this.#moods.set(url, mood)
    if (this.isCalm) return "healthy"
    return mood === "fickle" ? this.#options.random.pick(MOODS.slice(0, 6)) : mood
  }

  #arrive(
    {
      body,
      headers,
      url
    }: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
    status: number
  ): void {
    const { audit, random, rare, time } = this.#options
    audit.received(url, headers, body)
    if (status >= 200 && status < 300) audit.accepted(url, body)
    if (this.isCalm || !random.chance(0.02)) return
    rare.count("webhook delivered twice")
    time.after(random.integer(1, SECOND), "webhook again", undefined, () =>
      audit.received(url, headers, body)
    )
  }
}
