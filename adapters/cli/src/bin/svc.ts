#!/usr/bin/env node
import { overviewOf } from "../command/CommandList.ts"
import { EXIT_OUTPUT_CLOSED, onOutputClosed } from "../start/ClosedOutput.ts"
import { nodeFault } from "../start/Version.ts"

/** `EXIT_CONFIGURATION` of StartFault.ts, which loads Effect. */
const EXIT_NODE = 78

const words = process.argv.slice(2)
const overview = overviewOf(words)
const fault = nodeFault(process.versions.node)
if (fault !== undefined && overview === undefined) {
  console.error(fault)
  process.exitCode = EXIT_NODE
} else if (overview === undefined) {
  const { keepNewObjectsYoung } = await import("../start/HeapFlags.ts")
  keepNewObjectsYoung()
  const [{ svc }, { runCommand }] = await Promise.all([
    import("../command/SvcCommand.ts"),
    import("../start/RunCommand.ts")
  ])
  const { name, run } = svc(words)
  runCommand(name, run)
} else {
  onOutputClosed(() => {
    process.exitCode = EXIT_OUTPUT_CLOSED
  })
  console.log(overview)
}
