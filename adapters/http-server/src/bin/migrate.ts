#!/usr/bin/env node
import { MIGRATE_HELP, migrate, printSql } from "../Migrate.ts"
import { runServer } from "../StartFault.ts"

if (process.argv.includes("--help")) process.stdout.write(MIGRATE_HELP)
else runServer("svc migrate", process.argv.includes("--print-sql") ? printSql : migrate)
