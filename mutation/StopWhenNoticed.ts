/** Loads no further test file once a test has failed: the change is noticed, and a changed loop may never end in the next one. */
import { afterEach } from "vitest"

const worker = globalThis as { isNoticed?: boolean }

if (worker.isNoticed) throw new Error("another test has noticed the change")

afterEach(({ task }) => {
  if (task.result?.state === "fail") worker.isNoticed = true
})
