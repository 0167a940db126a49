import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { SerializedError } from "vitest"
import type { Reporter, TestModule, TestSuite } from "vitest/node"

/** Names the file that {@link FailedTests} appends to; unset, it writes nothing. */
export const FAILED_TESTS_FILE = "SVC_TEST_FAILURES"

/** Without the frames of the runner. */
const textOf = ({ message, stack }: SerializedError): string =>
  (stack ?? message)
    .split("\n")
    .filter((line) => !/^ +at .*\/node_modules\/vitest\//u.test(line))
    .join("\n")

const collectionErrors = (suite: TestModule | TestSuite): ReadonlyArray<string> => [
  ...suite
    .errors()
    .map((error) => `${"moduleId" in suite ? suite.relativeModuleId : suite.fullName}\n${textOf(error)}`),
  ...[...suite.children.suites()].flatMap(collectionErrors)
]

const failuresOf = (file: TestModule): ReadonlyArray<string> => [
  ...collectionErrors(file),
  ...[...file.children.allTests("failed")].map((test) =>
    [`${file.relativeModuleId} > ${test.fullName}`, ...(test.result().errors ?? []).map(textOf)].join("\n")
  )
]

/** Keeps what failed, so that it can be said once more after everything else that a run prints. */
export default class FailedTests implements Reporter {
  onTestRunEnd(files: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): void {
    const path = process.env[FAILED_TESTS_FILE]
    const failed = [
      ...files.flatMap(failuresOf),
      ...unhandled.map((error) => `Outside of any test\n${textOf(error)}`)
    ]
    if (path === undefined || failed.length === 0) return
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, failed.map((text) => `${text}\n\n`).join(""))
  }
}
