#!/usr/bin/env node
import { Console } from "effect"
import { DEV_HELP } from "../Config.ts"
import { devServer } from "../DevServer.ts"
import { runCommand } from "../StartFault.ts"

const isHelp = process.argv.includes("--help")
runCommand("svc dev", isHelp ? Console.log(DEV_HELP.trimEnd()) : devServer)
