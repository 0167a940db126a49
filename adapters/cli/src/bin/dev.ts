#!/usr/bin/env node
import { Console } from "effect"
import { DEV_HELP } from "../config/Config.ts"
import { devServer } from "../dev/DevServer.ts"
import { runCommand } from "../start/StartFault.ts"

const isHelp = process.argv.includes("--help")
runCommand("svc dev", isHelp ? Console.log(DEV_HELP.trimEnd()) : devServer)
