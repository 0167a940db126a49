#!/usr/bin/env node
import { svc } from "../command/SvcCommand.ts"
import { runCommand } from "../StartFault.ts"

const { name, run } = svc(process.argv.slice(2))
runCommand(name, run)
