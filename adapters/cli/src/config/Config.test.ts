import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { NO_PROXIES } from "@svc/http-server/http/ClientAddress"
import { ConfigProvider, Effect, Redacted, Result } from "effect"
import { storeFault } from "../start/StoreFault.ts"
import { devConfig, serverConfig, workerConfig } from "./Config.ts"
import { DEV_HELP, helpOf, SETTINGS_OF } from "./SettingsHelp.ts"
import { settingWarnings } from "./SettingWarnings.ts"

const MASTER_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const COMPLETE = {
  SVC_ENVIRONMENT: "live",
  SVC_STORE: "pglite:data",
  SVC_BASE_URL: "https://api.example.com",
  SVC_APPROVAL_BASE_URL: "https://approve.example.com/",
  SVC_MASTER_KEY: MASTER_KEY
}

type Variables = Readonly<Record<string, string>>

const read = <A, E>(config: Effect.Effect<A, E>, env: Variables) =>
  Effect.result(Effect.provideService(config, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })))

describe("settings of svc serve", () => {
  it.effect("have defaults", () =>
    Effect.gen(function* () {
      const { masterKey, ...config } = yield* Effect.fromResult(yield* read(serverConfig, COMPLETE))
      assert.strictEqual(Redacted.value(masterKey).length, 32)
      assert.deepStrictEqual(config, {
        environment: "live",
        store: { pglite: "data" },
        host: undefined,
        port: 8080,
        approvalPort: 8081,
        metricsPort: undefined,
        traces: undefined,
        baseUrl: "https://api.example.com",
        approvalBaseUrl: "https://approve.example.com",
        rpId: "approve.example.com",
        masterKeyPrevious: undefined,
        rateLimit: { rate: 100, burst: 200 },
        trustedProxies: NO_PROXIES,
        webhookLoopback: false,
        webhookRetentionDays: 30,
        assertionRetentionDays: 1,
        logLevel: "Info"
      })
    })
  )

  it.effect("have a port for metrics, unlike the others", () =>
    Effect.gen(function* () {
      const env = { ...COMPLETE, SVC_METRICS_PORT: "9464" }
      const { metricsPort } = yield* Effect.fromResult(yield* read(serverConfig, env))
      assert.strictEqual(metricsPort, 9464)
      for (const taken of ["8080", "8081"]) {
        const result = yield* read(serverConfig, { ...COMPLETE, SVC_METRICS_PORT: taken })
        assert.isTrue(Result.isFailure(result))
        if (Result.isFailure(result)) assert.include(result.failure.line, "SVC_METRICS_PORT must be")
      }
    })
  )

  it.effect("name the trusted proxies", () =>
    Effect.gen(function* () {
      const env = { ...COMPLETE, SVC_TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::7" }
      const { trustedProxies } = yield* Effect.fromResult(yield* read(serverConfig, env))
      assert.isTrue(trustedProxies.include("10.1.2.3"))
      assert.isTrue(trustedProxies.include("2001:db8::7"))
      assert.isFalse(trustedProxies.include("203.0.113.7"))
    })
  )

  for (const name of Object.keys(COMPLETE)) {
    it.effect(`require ${name} and treat an empty value as unset`, () =>
      Effect.gen(function* () {
        const { [name]: _, ...others } = COMPLETE as Variables
        for (const env of [others, { ...others, [name]: "" }]) {
          const result = yield* read(serverConfig, env)
          const fault = Result.isFailure(result) ? result.failure : undefined
          assert.strictEqual(fault?.exitCode, 78)
          assert.match(fault?.line ?? "", new RegExp(`^${name} is missing`, "u"))
          assert.notInclude(fault?.line ?? "", "\n")
        }
      })
    )
  }

  for (const [name, value] of [
    ["SVC_ENVIRONMENT", "prod"],
    ["SVC_STORE", "mysql://user:password@x"],
    ["SVC_STORE", "postgres:///nowhere"],
    ["SVC_STORE", "pglite:"],
    ["SVC_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["SVC_TRUSTED_PROXIES", "proxy.example.com"],
    ["SVC_STORE", "memory"],
    ["SVC_HOST", "api.example.com"],
    ["SVC_HOST", "10.0.0"],
    ["SVC_PORT", "0"],
    ["SVC_PORT", "65536"],
    ["SVC_PORT", "8080.0"],
    ["SVC_APPROVAL_PORT", "8080"],
    ["SVC_BASE_URL", "http://api.example.com"],
    ["SVC_BASE_URL", "https://api.example.com/v1"],
    ["SVC_BASE_URL", "https://user@api.example.com"],
    ["SVC_BASE_URL", "api.example.org"],
    ["SVC_APPROVAL_BASE_URL", "http://localhost:8081"],
    ["SVC_APPROVAL_BASE_URL", "https://api.example.com"],
    ["SVC_RP_ID", "example.org"],
    ["SVC_RP_ID", "com"],
    ["SVC_MASTER_KEY", `${MASTER_KEY}=`],
    ["SVC_MASTER_KEY", MASTER_KEY.slice(1)],
    ["SVC_MASTER_KEY_PREVIOUS", "secret"],
    ["SVC_WEBHOOK_RETENTION_DAYS", "0"],
    ["SVC_WEBHOOK_RETENTION_DAYS", "36501"],
    ["SVC_WEBHOOK_RETENTION_DAYS", "1.5"],
    ["SVC_WEBHOOK_RETENTION_DAYS", "off"],
    ["SVC_ASSERTION_RETENTION_DAYS", "0"],
    ["SVC_ASSERTION_RETENTION_DAYS", "0.5"],
    ["SVC_ASSERTION_RETENTION_DAYS", "36501"],
    ["SVC_STORE_PARTITIONS", "0"],
    ["SVC_STORE_PARTITIONS", "65"],
    ["SVC_STORE_PARTITIONS", "8.0"],
    ["SVC_STORE_PARTITIONS", "many"],
    ["SVC_RATE_LIMIT", "0"],
    ["SVC_RATE_LIMIT", "1:0"],
    ["SVC_RATE_LIMIT", "on"],
    ["SVC_LOG_LEVEL", "loud"]
  ] as const) {
    it.effect(`refuse ${name}=${value} without quoting it`, () =>
      Effect.gen(function* () {
        const result = yield* read(serverConfig, { ...COMPLETE, [name]: value })
        const fault = Result.isFailure(result) ? result.failure : undefined
        assert.strictEqual(fault?.exitCode, 78)
        assert.match(fault?.line ?? "", new RegExp(`^${name} must be`, "u"))
        if (value.length > 8) assert.notInclude(fault?.line ?? "", value)
      })
    )
  }

  it.effect(
    "name the least age of the ids of assertions, which the contract keeps for an hour at least",
    () =>
      Effect.gen(function* () {
        const result = yield* read(serverConfig, { ...COMPLETE, SVC_ASSERTION_RETENTION_DAYS: "0" })
        assert.strictEqual(
          Result.isFailure(result) ? result.failure.line : undefined,
          "SVC_ASSERTION_RETENTION_DAYS must be a whole number of days from 1 to 36500"
        )
      })
  )

  const HOST = "db.example.com"

  for (const [url, told] of [
    [`postgres://u:s3cret@${HOST}/svc?sslmode=bogus`, /its sslmode must be one of disable, .*verify-full$/u],
    [`postgres://u:s3cret@${HOST}/svc?sslmode=`, /its sslmode must be/u],
    [`postgres://u:s3cret@${HOST}:0/svc`, /its port must be 1 to 65535$/u],
    [`postgres://u:s3cret@${HOST}/svc?port=65536`, /its port must be/u],
    [`postgres://u:s3cret@${HOST}/svc?port=5e3`, /its port must be/u],
    [`postgres://u:s3cret@${HOST}:65536/svc`, /it is no URL/u],
    [`postgres://u:s3cret@${HOST}:port/svc`, /it is no URL/u],
    [`postgres://u:s3cret%zz@${HOST}/svc`, /a % in it must be written %25/u],
    [`postgres://u%z:s3cret@${HOST}/svc`, /a % in it/u],
    [`postgres://u:s3cret@${HOST}/sv%c`, /a % in it/u],
    [`postgres://u:s3cret@${HOST}/svc%00`, /a % in it/u],
    [`postgres://u:s3cret@${HOST}/svc?application_name=%f`, /a % in it/u],
    [`postgres://u:s3cret@${HOST}/svc#s3cret`, /a # in it must be written %23$/u],
    [`postgresql://u:s3cret@${HOST}/svc?connect_timeout=soon`, /its connect_timeout must be/u],
    ["postgres://", /it names no host/u],
    [
      `postgres://u:s3cret@${HOST}/svc?sslmod=require`,
      /\(was sslmode meant\?\); known are host, .*sslrootcert, target_session_attrs$/u
    ],
    [`postgres://u:s3cret@${HOST}/svc?SSLMODE=require`, /\(was sslmode meant\?\)/u],
    [`postgres://u:s3cret@${HOST}/svc?sslmode=require&s3cret=1`, /a parameter that is not known; known are/u],
    [`postgres://u:1?s3cret@${HOST}/svc`, /a parameter that is not known; known are/u],
    [`postgres://u:s3cret@${HOST}/svc?ssl=yes`, /its ssl must be true or false$/u],
    [`postgres://u:s3cret@${HOST}/svc?ssl=true&sslmode=prefer`, /its ssl and its sslmode contradict/u],
    [`postgres://u:s3cret@${HOST}/svc?ssl=false&sslmode=require`, /its ssl and its sslmode contradict/u],
    [`postgres://u:s3cret@${HOST}/svc?sslrootcert=ca.pem&sslmode=prefer`, /its sslrootcert says to verify/u],
    [`postgres://u:s3cret@${HOST}/svc?sslrootcert=ca.pem&ssl=false`, /its sslrootcert says to verify/u],
    [`postgres://u:s3cret@${HOST}/svc?sslrootcert=`, /its sslrootcert must name a file/u],
    [`postgres://u:s3cret@${HOST}/svc?sslmode=require&sslmode=disable`, /it says sslmode twice$/u],
    [`postgres://u:s3cret@${HOST}/svc?host=other`, /it says host twice, before the question mark/u],
    [`postgres://u:s3cret@${HOST}/svc?password=other`, /it says password twice/u],
    [`postgres://u:s3cret@${HOST},/svc`, /its list of hosts has an empty place$/u],
    [`postgres://u:s3cret@,${HOST}:5432/svc`, /its list of hosts has an empty place$/u],
    [`postgres://u:s3cret@${HOST},:5432/svc`, /its list of hosts has an empty place$/u],
    [`postgres://u:s3cret@/svc?host=${HOST},`, /^SVC_STORE must be .*(?:it is no URL|an empty place)/u],
    [`postgres:///svc?host=${HOST},&user=u`, /its list of hosts has an empty place$/u],
    [`postgres://u:s3cret@${HOST},b:0/svc`, /its port must be 1 to 65535$/u],
    [`postgres://u:s3cret@${HOST},b:99999/svc`, /a port above 65535/u],
    [`postgres://u:s3cret@${HOST},${HOST}:5432/svc`, /its list of hosts names one twice$/u],
    [
      `postgres://u:s3cret@${Array.from({ length: 17 }, (_, at) => `h${at}`)}/svc`,
      /it lists 17 hosts, and at most 16/u
    ],
    [`postgres:///svc?host=${HOST},b&port=1,2,3`, /it lists 2 hosts and 3 ports$/u],
    [`postgres:///svc?host=${HOST}&port=1,2`, /it lists 1 hosts and 2 ports$/u],
    [`postgres://u:s3cret@${HOST},b/svc?host=c`, /it says host twice, before the question mark/u],
    [
      `postgres://u:s3cret@${HOST},b/svc?target_session_attrs=any`,
      /target_session_attrs must be read-write or primary/u
    ],
    [
      `postgres://u:s3cret@${HOST}/svc?target_session_attrs=standby`,
      /target_session_attrs must be read-write/u
    ],
    [
      `postgres://u:s3cret@${HOST},b/svc?load_balance_hosts=random`,
      /its load_balance_hosts must be disable/u
    ],
    [
      `postgres://u:s3cret@${HOST},b/svc?target_session_attr=primary`,
      /\(was target_session_attrs meant\?\)/u
    ],
    [
      `postgress://u:s3cret@${HOST}/svc`,
      /^SVC_STORE must be (?:(?:memory, )?pglite:<folder>,? or )?a postgres:\/\/ URL$/u
    ]
  ] as const) {
    it.effect(`refuse the store ${url} and say why without quoting it`, () =>
      Effect.gen(function* () {
        const faults = [
          yield* Effect.flip(
            Effect.flatMap(read(serverConfig, { ...COMPLETE, SVC_STORE: url }), Effect.fromResult)
          ),
          yield* Effect.flip(
            Effect.flatMap(
              read(workerConfig, { SVC_STORE: url, SVC_MASTER_KEY: MASTER_KEY }),
              Effect.fromResult
            )
          ),
          yield* Effect.flip(Effect.flatMap(read(devConfig, { SVC_STORE: url }), Effect.fromResult))
        ]
        for (const { exitCode, line } of faults) {
          assert.strictEqual(exitCode, 78)
          assert.match(line, told)
          assert.match(line, /^SVC_STORE must be /u)
          assert.notMatch(line, /s3cret|db\.example|\n/u)
        }
      })
    )
  }

  it.effect("accept every other form of a server's URL", () =>
    Effect.gen(function* () {
      for (const url of [
        "postgresql://db",
        "postgres://user%40shop:p%25%23%2F@[::1]:5433/svc?sslmode=verify-full&connect_timeout=5&options=-c%20a%3Db",
        "postgres://user@db:65535/svc?sslmode=disable",
        "postgres:///svc?host=/var/run/postgresql&user=svc",
        "postgres://user:a,b@db/svc",
        "postgres://user:pw@db1:5432,db2:5433/svc?target_session_attrs=read-write",
        "postgres://user:a,b@db1,[::1],db3:5433/svc?connect_timeout=2&load_balance_hosts=disable",
        "postgres:///svc?host=/run/a,/run/b&port=5432,5433&user=svc&target_session_attrs=primary",
        "postgres://user@db/svc?sslrootcert=/etc/ca.pem&application_name=shop"
      ]) {
        const needed = { SVC_STORE: url, SVC_MASTER_KEY: MASTER_KEY }
        const config = yield* Effect.flatMap(read(workerConfig, needed), Effect.fromResult)
        assert.strictEqual(Redacted.value(config.store.postgres), url)
      }
    })
  )

  it.effect("accept a folder or a server as the store", () =>
    Effect.gen(function* () {
      const storeOf = (text: string) =>
        Effect.map(read(serverConfig, { ...COMPLETE, SVC_STORE: text }), Result.getOrThrow).pipe(
          Effect.map(({ store }) => store)
        )
      assert.deepStrictEqual(yield* storeOf("pglite:/var/svc"), { pglite: "/var/svc" })
      const url = "postgres://user:password@db.example/svc"
      const store = yield* storeOf(url)
      assert(typeof store === "object" && "postgres" in store)
      assert.strictEqual(Redacted.value(store.postgres), url)
      assert.notInclude(JSON.stringify(store), "password")
    })
  )

  it.effect("are reported all at once if missing or invalid", () =>
    Effect.gen(function* () {
      const nothing = yield* Effect.flip(Effect.flatMap(read(serverConfig, {}), Effect.fromResult))
      assert.strictEqual(nothing.exitCode, 78)
      assert.deepStrictEqual(
        nothing.line.split("\n").map((line) => line.slice(0, line.indexOf(" "))),
        ["SVC_ENVIRONMENT", "SVC_STORE", "SVC_BASE_URL", "SVC_APPROVAL_BASE_URL", "SVC_MASTER_KEY"]
      )
      const bad = { ...COMPLETE, SVC_PORT: "x", SVC_BASE_URL: "http://a.example", SVC_LOG_LEVEL: "loud" }
      const { line } = yield* Effect.flip(Effect.flatMap(read(serverConfig, bad), Effect.fromResult))
      assert.match(
        line,
        /^SVC_BASE_URL must be [^\n]*\nSVC_PORT must be [^\n]*\nSVC_LOG_LEVEL must be [^\n]*$/u
      )
    })
  )

  it.effect("say why a store in memory is refused", () =>
    Effect.gen(function* () {
      const memory = { ...COMPLETE, SVC_STORE: "memory" }
      const { line } = yield* Effect.flip(Effect.flatMap(read(serverConfig, memory), Effect.fromResult))
      assert.match(line, /: no command can make an organization in the memory of another process; npm start/u)
    })
  )

  it.effect("accept an address to bind to", () =>
    Effect.gen(function* () {
      for (const host of ["127.0.0.1", "::", "localhost"]) {
        const config = yield* Effect.fromResult(yield* read(serverConfig, { ...COMPLETE, SVC_HOST: host }))
        assert.strictEqual(config.host, host)
      }
    })
  )

  it.effect("accept a parent domain as RP ID, and other rates", () =>
    Effect.gen(function* () {
      const env = { ...COMPLETE, SVC_RP_ID: "example.com" }
      for (const [text, rateLimit] of [
        ["off", "off"],
        ["7", { rate: 7, burst: 14 }],
        ["7:9", { rate: 7, burst: 9 }]
      ] as const) {
        const config = yield* Effect.fromResult(yield* read(serverConfig, { ...env, SVC_RATE_LIMIT: text }))
        assert.strictEqual(config.rpId, "example.com")
        assert.deepStrictEqual(config.rateLimit, rateLimit)
      }
    })
  )
})

describe("SVC_WEBHOOK_ALLOW_LOOPBACK", () => {
  const allowed = { SVC_WEBHOOK_ALLOW_LOOPBACK: "true" }
  const refused = {
    exitCode: 78,
    line: "SVC_WEBHOOK_ALLOW_LOOPBACK must be true or false (false in the live environment)"
  } as const
  const worker = { SVC_STORE: "postgres://db", SVC_MASTER_KEY: MASTER_KEY, ...allowed }

  it.effect("allows loopback webhooks in the test environment", () =>
    Effect.gen(function* () {
      const test = { ...COMPLETE, SVC_ENVIRONMENT: "test", ...allowed }
      assert.isTrue((yield* Effect.fromResult(yield* read(serverConfig, test))).webhookLoopback)
      const own = yield* Effect.fromResult(yield* read(workerConfig, { ...worker, SVC_ENVIRONMENT: "test" }))
      assert.isTrue(own.webhookLoopback)
    })
  )

  it.effect("is refused in the live environment", () =>
    Effect.gen(function* () {
      const live = { SVC_ENVIRONMENT: "live" }
      const faultOf = <A, E>(result: Result.Result<A, E>) =>
        Result.isFailure(result) ? result.failure : undefined
      const faults = [
        faultOf(yield* read(serverConfig, { ...COMPLETE, ...live, ...allowed })),
        faultOf(yield* read(workerConfig, { ...worker, ...live }))
      ]
      for (const fault of faults) assert.deepInclude(fault, refused)
      const unsaid = yield* read(workerConfig, worker)
      assert.include(faultOf(unsaid)?.line, "SVC_ENVIRONMENT is missing")
    })
  )
})

describe("settings in files", () => {
  const URL_WITH_PASSWORD = "postgres://user:password@db.example/svc"

  const withFile = (content: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const path = join(mkdtempSync(join(tmpdir(), "svc-setting-")), "secret")
        writeFileSync(path, content)
        return path
      }),
      (path) => Effect.sync(() => rmSync(dirname(path), { recursive: true }))
    )

  it.effect("are read without the end of the line", () =>
    Effect.gen(function* () {
      const config = yield* Effect.flatMap(
        read(workerConfig, {
          SVC_STORE_FILE: yield* withFile(`${URL_WITH_PASSWORD}\n`),
          SVC_MASTER_KEY_FILE: yield* withFile(MASTER_KEY),
          SVC_MASTER_KEY_PREVIOUS_FILE: yield* withFile(`${MASTER_KEY}\r\n`)
        }),
        Effect.fromResult
      )
      assert.strictEqual(Redacted.value(config.store.postgres), URL_WITH_PASSWORD)
      assert.strictEqual(Redacted.value(config.masterKeys.current).length, 32)
      assert.strictEqual(config.masterKeys.previous && Redacted.value(config.masterKeys.previous).length, 32)
    })
  )

  it.effect("are refused with what is wrong, without quoting the content", () =>
    Effect.gen(function* () {
      const line = (env: Variables) =>
        Effect.map(read(workerConfig, { SVC_STORE: URL_WITH_PASSWORD, ...env }), (result) =>
          Result.isFailure(result) ? result.failure.line : ""
        )
      const form =
        "SVC_MASTER_KEY_FILE: its content must be 32 bytes as unpadded base64url, or what svc master-key create --kms printed"
      for (const content of ["", "s3cret", `${MASTER_KEY}\n\n`])
        assert.strictEqual(yield* line({ SVC_MASTER_KEY_FILE: yield* withFile(content) }), form)
      const path = yield* withFile(MASTER_KEY)
      assert.strictEqual(
        yield* line({ SVC_MASTER_KEY_FILE: `${path}.missing` }),
        "SVC_MASTER_KEY_FILE must be the path of a file that can be read"
      )
      assert.strictEqual(
        yield* line({ SVC_MASTER_KEY: MASTER_KEY, SVC_MASTER_KEY_FILE: path }),
        "SVC_MASTER_KEY and SVC_MASTER_KEY_FILE are both set; leave one out"
      )
    })
  )

  it("are known, and are in the help", () => {
    assert.deepStrictEqual(settingWarnings({ SVC_STORE_FILE: "x", SVC_MASTER_KEY_FILE: "x" }, "svc"), [])
    assert.include(helpOf("svc serve", SETTINGS_OF.serve), "SVC_STORE_FILE may name a file")
  })
})

describe("SVC_STORE_PARTITIONS", () => {
  const url = "postgres://db/svc"

  it.effect("is the number of partitions of a server's schema, or none, or left open", () =>
    Effect.gen(function* () {
      for (const [text, partitions] of [
        ["1", 1],
        ["64", 64],
        ["none", 0],
        ["", undefined]
      ] as const) {
        const env = { ...COMPLETE, SVC_STORE: url, SVC_STORE_PARTITIONS: text }
        const { store } = yield* Effect.fromResult(yield* read(serverConfig, env))
        assert.strictEqual(
          typeof store === "object" && "postgres" in store ? store.partitions : -1,
          partitions
        )
      }
    })
  )

  it.effect("is refused for a store that is not on a server", () =>
    Effect.gen(function* () {
      const result = yield* read(serverConfig, { ...COMPLETE, SVC_STORE_PARTITIONS: "8" })
      assert.strictEqual(
        Result.isFailure(result) ? result.failure.line : "",
        "SVC_STORE_PARTITIONS is for a Postgres server, and SVC_STORE names none"
      )
    })
  )

  it("that disagrees with the schema is refused with a remedy", () => {
    const fault = storeFault({ _tag: "PartitionsDiffer", schema: "svc", present: 0, expected: 8 })
    assert.strictEqual(fault.exitCode, 78)
    assert.strictEqual(
      fault.line,
      "the schema svc of the database was made with no partitions and SVC_STORE_PARTITIONS asks for 8 partitions: leave it out, or name an empty database"
    )
  })
})

describe("settings of svc worker", () => {
  it.effect("are a server, the master key and the log level alone", () =>
    Effect.gen(function* () {
      const url = "postgres://user:password@db/svc"
      const needed = { SVC_STORE: url, SVC_MASTER_KEY: MASTER_KEY }
      const config = yield* Effect.fromResult(yield* read(workerConfig, needed))
      assert.strictEqual(Redacted.value(config.store.postgres), url)
      assert.strictEqual(config.logLevel, "Info")
      assert.isFalse(config.webhookLoopback)
      assert.strictEqual(config.webhookRetentionDays, 30)
      assert.strictEqual(config.assertionRetentionDays, 1)
      const longer = {
        ...needed,
        SVC_WEBHOOK_RETENTION_DAYS: "365",
        SVC_ASSERTION_RETENTION_DAYS: "36500"
      }
      const { assertionRetentionDays, webhookRetentionDays } = yield* Effect.fromResult(
        yield* read(workerConfig, longer)
      )
      assert.deepStrictEqual([webhookRetentionDays, assertionRetentionDays], [365, 36_500])
      for (const store of ["memory", "pglite:.data/pglite"]) {
        const result = yield* read(workerConfig, { ...needed, SVC_STORE: store })
        const fault = Result.isFailure(result) ? result.failure : undefined
        assert.strictEqual(fault?.exitCode, 78)
        assert.match(
          fault?.line ?? "",
          /^SVC_STORE must be a postgres:\/\/ URL: a folder or memory is opened by one process alone/u
        )
      }
    })
  )
})

describe("settings of the development server", () => {
  it.effect("have defaults for everything", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.fromResult(yield* read(devConfig, {})), {
        store: { pglite: ".data/pglite" },
        host: "127.0.0.1",
        port: 8080,
        approvalPort: 8081,
        rateLimit: { rate: 100, burst: 200 },
        webhookRetentionDays: 30,
        assertionRetentionDays: 1,
        logLevel: "Info",
        dataDir: ".data"
      })
      const moved = yield* Effect.fromResult(yield* read(devConfig, { SVC_DATA_DIR: "/srv/svc" }))
      assert.deepStrictEqual(moved.store, { pglite: "/srv/svc/pglite" })
    })
  )
})

describe("settingWarnings", () => {
  it("names variables without effect and the likely spelling, but no value", () => {
    const env = {
      SVC_STROE: "postgres://u:p@db",
      svc_store: "x",
      SVC_RATELIMIT: "1",
      SVC_WHATEVER: "1",
      SVC_EMPTY: "",
      SVC_TEST_POSTGRES: "/usr",
      SVC_STORE: "memory",
      SVC_HOST: "::",
      PATH: "/bin"
    }
    const unknown = [
      "SVC_STROE is no setting; was SVC_STORE meant?",
      "SVC_RATELIMIT is no setting; was SVC_RATE_LIMIT meant?",
      "SVC_WHATEVER is no setting; see --help"
    ]
    assert.deepStrictEqual(settingWarnings(env, "svc"), unknown)
    assert.deepStrictEqual(settingWarnings({ ...env, SVC_ENVIRONMENT: "live", SVC_API_KEY: "x" }, "dev"), [
      ...unknown,
      "SVC_ENVIRONMENT has no effect on the development server, which sets that itself"
    ])
  })
})

describe("helpOf", () => {
  it("lists every setting", () => {
    const help = helpOf("svc serve", SETTINGS_OF.serve)
    for (const name of Object.keys(COMPLETE)) assert.include(help, name)
    assert.include(helpOf("svc worker", SETTINGS_OF.worker), "SVC_MASTER_KEY")
    assert.notInclude(helpOf("svc worker", SETTINGS_OF.worker), "SVC_BASE_URL")
    assert.include(DEV_HELP, "SVC_DATA_DIR")
  })
})
