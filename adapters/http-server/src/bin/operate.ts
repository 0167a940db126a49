#!/usr/bin/env node
import { OPERATOR_HELP, operate } from "../OperatorCommands.ts"
import { runServer } from "../StartFault.ts"

if (process.argv.includes("--help")) process.stdout.write(OPERATOR_HELP)
else runServer("svc", operate(process.argv.slice(2)))
