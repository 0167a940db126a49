import { isThenable } from "@svc/client/calls"

export { isThenable }

/** Has somebody notice that a promise rejects, if it is one: nobody waits for it. A rejection would otherwise end the process. */
export const unawaited = (value: unknown, onRejected: (reason: unknown) => void): void => {
  if (isThenable(value)) Promise.resolve(value).catch(onRejected)
}
