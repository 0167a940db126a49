#!/usr/bin/env node
import { DEV_HELP } from "../Config.ts"
import { devServer } from "../DevServer.ts"
import { runCommand } from "../StartFault.ts"

if (process.argv.includes("--help")) process.stdout.write(DEV_HELP)
else runCommand("svc dev", devServer)
