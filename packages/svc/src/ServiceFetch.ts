import { Effect, Stream } from "effect"
import { HttpBody, HttpServerRequest, HttpServerResponse } from "effect/http"
import { notOpenResponse } from "./NotOpen.ts"
import type { ServiceApp } from "./ServiceApp.ts"
import type { ServiceRuntime } from "./ServiceRuntime.ts"

type Fetch = (request: Request) => Promise<Response>

/** What a promise gives, unless the signal is aborted before: then its reason, at once. */
const unlessAborted = <A>(work: Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    signal.addEventListener("abort", end, { once: true })
    const settled = () => signal.removeEventListener("abort", end)
    work.then(resolve, reject).then(settled, settled)
  })
}

/** The same response. The services are kept open until its body has been read, given up or aborted. */
const keptUntilRead = (
  response: HttpServerResponse.HttpServerResponse,
  { keep }: ServiceRuntime
): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  if (body._tag !== "Stream") return response
  let end: () => void = () => undefined
  keep(
    new Promise<void>((resolve) => {
      end = resolve
    })
  )
  const stream = Stream.onExit(body.stream, () => Effect.sync(end))
  return HttpServerResponse.setBody(response, HttpBody.stream(stream, body.contentType, body.contentLength))
}

/** The same response, whose body fails with the signal's reason when that is aborted: a part must not pass for the whole. */
const failingWhenAborted = (response: Response, signal: AbortSignal | undefined): Response => {
  const { body, headers, status, statusText } = response
  if (body === null || signal === undefined) return response
  const reader = body.getReader()
  let ignore: () => void = () => undefined
  const failing = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const fail = () => {
          controller.error(signal.reason)
          // Whoever made the body learns that nobody reads on; what it says to that concerns nobody.
          reader.cancel(signal.reason).catch(() => undefined)
        }
        ignore = () => signal.removeEventListener("abort", fail)
        signal.addEventListener("abort", fail, { once: true })
      },
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (signal.aborted) return
        if (!done) return controller.enqueue(value)
        ignore()
        controller.close()
      },
      cancel: (reason) => {
        ignore()
        return reader.cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
  return new Response(failing, { headers, status, statusText })
}

/** The service as a web-standard handler. A request whose signal is aborted ends as one whose client has left its socket. */
export const makeFetch =
  (runtime: ServiceRuntime, app: ServiceApp, baseUrl: string): Fetch =>
  async (request) => {
    // Some runtimes make requests without one.
    const signal: AbortSignal | undefined = request.signal
    signal?.throwIfAborted()
    const withoutBody = request.method === "HEAD"
    const answered = Effect.map(
      Effect.provideService(app, HttpServerRequest.HttpServerRequest, HttpServerRequest.fromWeb(request)),
      (response) => {
        if (withoutBody) return HttpServerResponse.toWeb(response, { withoutBody })
        if (response.body._tag !== "Stream") return HttpServerResponse.toWeb(response)
        return failingWhenAborted(HttpServerResponse.toWeb(keptUntilRead(response, runtime)), signal)
      }
    )
    const answer = runtime.run(answered, signal).catch((fault: unknown) => notOpenResponse(fault, baseUrl))
    return unlessAborted(answer, signal)
  }

/** Status that nginx logs for a client that has left; nobody is there to read it. */
const CLIENT_CLOSED_REQUEST = 499

/** Answers for a host that takes a rejection for a fault of its own, which a client that has left is not. */
export const answerFor = async (fetch: Fetch, request: Request): Promise<Response> => {
  try {
    return await fetch(request)
  } catch (reason) {
    if (!request.signal.aborted) throw reason
    return new Response(null, { status: CLIENT_CLOSED_REQUEST })
  }
}
