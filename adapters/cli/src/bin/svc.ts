#!/usr/bin/env node
import { overviewOf } from "../command/CommandList.ts"
import { EXIT_OUTPUT_CLOSED, onOutputClosed } from "../start/ClosedOutput.ts"

const words = process.argv.slice(2)
const overview = overviewOf(words)
if (overview === undefined) {
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
