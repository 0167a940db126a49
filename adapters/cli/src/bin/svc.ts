#!/usr/bin/env node
import { toldAtOnce } from "../command/CommandList.ts"
import { EXIT_OUTPUT_CLOSED, whenOutputCloses } from "../start/ClosedOutput.ts"

const words = process.argv.slice(2)
const told = toldAtOnce(words)
if (told === undefined) {
  const [{ svc }, { runCommand }] = await Promise.all([
    import("../command/SvcCommand.ts"),
    import("../start/StartFault.ts")
  ])
  const { name, run } = svc(words)
  runCommand(name, run)
} else {
  whenOutputCloses(() => {
    process.exitCode = EXIT_OUTPUT_CLOSED
  })
  console.log(told)
}
