#!/usr/bin/env node
import { SERVER_HELP } from "../Config.ts"
import { serve } from "../Serve.ts"
import { runServer } from "../StartFault.ts"

if (process.argv.includes("--help")) process.stdout.write(SERVER_HELP)
else runServer("svc serve", serve)
