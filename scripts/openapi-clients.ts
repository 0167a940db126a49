/**
 * Generates two typed clients from the OpenAPI document, compiles them, and runs them against a development server:
 * `npm run check:openapi-clients`. The generators and their TypeScript are installed into a separate folder.
 */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { openApiText } from "@svc/http-server/reference/DocumentRoutes"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, "node_modules", ".cache", "openapi-clients")
/** Where clients are generated and compiled; not under node_modules, where compilers treat sources as libraries. */
const folder = mkdtempSync(join(tmpdir(), "svc-openapi-clients-"))

const PACKAGES = {
  "@hey-api/openapi-ts": "0.99.0",
  "openapi-fetch": "0.17.0",
  "openapi-typescript": "7.13.0",
  typescript: "6.0.3"
}

/** Each client creates a mandate, reads it, and receives a problem; the compiler checks that its types allow that. */
const PROGRAMS = {
  "openapi-fetch.ts": `import createClient from "openapi-fetch"
import type { paths } from "./types"

const client = createClient<paths>({
  baseUrl: process.env.SVC_URL!,
  headers: { Authorization: \`Bearer \${process.env.SVC_API_KEY}\` }
})

const main = async () => {
  const created = await client.POST("/v1/mandates", {
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    body: {
      kind: "SINGLE",
      subject_reference: "user_8f2",
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: "2030-01-01T00:00:00Z" }
    }
  })
  if (created.data === undefined) throw new Error(created.error.detail)
  const path = { mandate_id: created.data.id }
  const read = await client.GET("/v1/mandates/{mandate_id}", { params: { path } })
  if (read.data?.state !== "PENDING_APPROVAL") throw new Error("not read")
  const refused = await client.GET("/v1/authorizations/{authorization_id}", {
    params: { path: { authorization_id: "none" } }
  })
  if (refused.error?.code !== "not_found") throw new Error("not refused")
}
void main()
`,
  "hey-api.ts": `import { client } from "./client/client.gen"
import { createMandate, getAuthorization, getMandate } from "./client"

client.setConfig({ baseUrl: process.env.SVC_URL!, auth: () => process.env.SVC_API_KEY! })

const main = async () => {
  const created = await createMandate({
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: {
      kind: "SINGLE",
      subject_reference: "user_8f2",
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: "2030-01-01T00:00:00Z" }
    }
  })
  if (created.data === undefined) throw new Error(JSON.stringify(created.error))
  const read = await getMandate({ path: { mandate_id: created.data.id } })
  if (read.data?.state !== "PENDING_APPROVAL") throw new Error("not read")
  const refused = await getAuthorization({ path: { authorization_id: "none" } })
  if (refused.error?.code !== "not_found") throw new Error("not refused")
}
void main()
`
}

const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: true,
  target: "es2022",
  lib: ["es2023", "dom", "dom.iterable"],
  module: "commonjs",
  moduleResolution: "bundler",
  typeRoots: [join(root, "node_modules", "@types")],
  types: ["node"],
  rootDir: ".",
  outDir: "out"
}

const run = (
  command: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {},
  cwd = folder
): void => {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit", env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${args[0]} failed`)
}

const tool = (name: string, file: string): string => join(cache, "node_modules", name, file)

const install = (): void => {
  const manifest = JSON.stringify({ private: true, type: "commonjs", dependencies: PACKAGES })
  const file = join(cache, "package.json")
  mkdirSync(cache, { recursive: true })
  const isInstalled =
    existsSync(tool("typescript", "package.json")) && readFileSync(file, "utf8") === manifest
  if (isInstalled) return
  writeFileSync(file, manifest)
  // Both generators work with this version of TypeScript.
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"], {}, cache)
}

const generate = (): void => {
  writeFileSync(join(folder, "openapi.json"), openApiText("https://api.example"))
  run(process.execPath, [tool("openapi-typescript", "bin/cli.js"), "openapi.json", "-o", "types.ts"])
  run(process.execPath, [tool("@hey-api/openapi-ts", "bin/run.js"), "-i", "openapi.json", "-o", "client"])
}

const compile = (): void => {
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, name), text)
  const config = { compilerOptions: COMPILER_OPTIONS, files: Object.keys(PROGRAMS) }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
  run(process.execPath, [tool("typescript", "bin/tsc"), "-p", "tsconfig.json"])
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Runs both clients against a development server, which it stops afterwards. */
const tryClients = async (): Promise<void> => {
  const data = join(folder, "data")
  const settings = {
    SVC_PORT: String(await freePort()),
    SVC_APPROVAL_PORT: String(await freePort()),
    SVC_STORE: "memory",
    SVC_DATA_DIR: data
  }
  const server = spawn(process.execPath, [join(root, "adapters/cli/src/bin/dev.ts")], {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"]
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.stdout.on("data", (text) => String(text).includes("Reference") && resolve())
      server.on("exit", () => reject(new Error("the development server did not start")))
    })
    const { api_key, base_url } = JSON.parse(readFileSync(join(data, "dev.json"), "utf8"))
    for (const name of Object.keys(PROGRAMS)) {
      run(process.execPath, [join("out", name.replace(/\.ts$/u, ".js"))], {
        SVC_URL: base_url,
        SVC_API_KEY: api_key
      })
      process.stdout.write(`${name}: compiled and ran\n`)
    }
  } finally {
    const ended = new Promise((resolve) => server.once("exit", resolve))
    if (server.kill()) await ended
  }
}

try {
  install()
  symlinkSync(join(cache, "node_modules"), join(folder, "node_modules"))
  generate()
  compile()
  await tryClients()
} finally {
  rmSync(folder, { recursive: true })
}
