#!/usr/bin/env node
import { Console } from "effect"
import { DEV_HELP } from "../config/SettingsHelp.ts"
import { devServer } from "../dev/DevServer.ts"
import { keepNewObjectsYoung } from "../start/HeapFlags.ts"
import { runCommand } from "../start/RunCommand.ts"

keepNewObjectsYoung()
const isHelp = process.argv.includes("--help")
runCommand("svc dev", isHelp ? Console.log(DEV_HELP.trimEnd()) : devServer)
