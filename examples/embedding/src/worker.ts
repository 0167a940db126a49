import type { Service } from "svc"

/** Runs the workers of a service in a process without a listener, until it is told to stop. */
export const runWorker = async (service: Service, signal: AbortSignal): Promise<void> => {
  await service.ready()
  // Workers that wait do not keep the process alive.
  const awake = setInterval(() => undefined, 60_000)
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
  clearInterval(awake)
  await service.close()
}
