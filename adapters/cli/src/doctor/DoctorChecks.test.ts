import { createServer, type Server } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { ResolutionFailed } from "@svc/guarded-http/NameResolver"
import { harnessOrganization } from "@svc/testkit/ProgramHarness"
import { ConfigProvider, Effect } from "effect"
import { selfSignedCertificate } from "../../test/browser/SelfSignedCertificate.ts"
import { slotsCheck, standbyCheck } from "./ActivityChecks.ts"
import { type Check, examine, type Verdict } from "./Check.ts"
import { hostsCheck } from "./HostChecks.ts"
import { certificateCheck, certificateFacts, Network, nameCheck, nameFacts } from "./NetworkChecks.ts"
import { environmentCheck, ORIGIN_CHECKS, originFacts } from "./OriginChecks.ts"
import { vacuumCheck } from "./SchemaChecks.ts"
import {
  clockCheck,
  encodingCheck,
  type FoundServer,
  poolerCheck,
  sessionCheck,
  synchronousCommitCheck,
  versionCheck,
  writableCheck
} from "./ServerChecks.ts"
import { settingFindings } from "./SettingChecks.ts"
import { CANARIES, processOffset, TIME_ZONE_CHECKS, timeZoneFacts } from "./TimeZoneChecks.ts"

const SOUND: FoundServer = {
  version: 180_001,
  release: "18.1",
  encoding: "UTF8",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  replication_role: "origin",
  is_read_only: false,
  is_replica: false,
  role: "svc",
  is_superuser: false,
  isEmbedded: false
}

const judged = <Facts>({ judge }: Check<Facts>, facts: Facts, status: Verdict["status"], found: RegExp) => {
  const verdict = judge(facts)
  assert.strictEqual(verdict.status, status, verdict.found)
  assert.match(verdict.found, found)
}

const SLOT = { name: "s", is_active: true, wal_status: "reserved", holds_vacuum: true, retained_bytes: 0 }
const STANDBY = { names: "one", connected: 1, synchronous: 1, hidden: 0 }

describe("checks of organizations", () => {
  it("tell a database of another environment from one that has some organizations of it", () => {
    const test = harnessOrganization({ environment: "test" })
    const live = harnessOrganization({ id: "org_live", environment: "live" })
    judged(environmentCheck, { environment: "live", organizations: [] }, "ok", /^0 organizations/u)
    judged(environmentCheck, { environment: "live", organizations: [live] }, "ok", /^1 organization/u)
    const mixed = { environment: "live", organizations: [test, live] } as const
    judged(environmentCheck, mixed, "warning", /^org_01.*of another environment than live/u)
    const other = { environment: "live", organizations: [test] } as const
    judged(environmentCheck, other, "warning", /^no organization .* environment live, so every API key/u)
    assert.match(environmentCheck.judge(other).remedy ?? "", /svc organization create.*SVC_STORE/u)
  })
})

describe("checks of a database", () => {
  it("judge what no test can plant in a server", () => {
    judged(versionCheck, { ...SOUND, version: 140_009, release: "14.9" }, "failed", /14\.9/u)
    judged(versionCheck, { ...SOUND, version: 190_000, release: "19.0" }, "warning", /not tried/u)
    judged(encodingCheck, { ...SOUND, encoding: "LATIN1" }, "failed", /LATIN1/u)
    judged(writableCheck, { ...SOUND, is_replica: true, is_read_only: true }, "failed", /replica/u)
    judged(synchronousCommitCheck, { ...SOUND, synchronous_commit: "local" }, "failed", /have local/u)
    judged(synchronousCommitCheck, { ...SOUND, synchronous_commit: "remote_apply" }, "ok", /remote_apply/u)
    judged(poolerCheck, true, "failed", /transaction mode/u)
    const asked = { synchronous_commit: "on", plan_cache_mode: "force_generic_plan" }
    const given = new Map([["synchronous_commit", "on"]])
    judged(sessionCheck, { asked, given }, "failed", /plan_cache_mode that they ask for/u)
  })

  it("judge several hosts by whether one takes writes and the others could", () => {
    const primary = {
      host: "a",
      port: 5432,
      kind: "writable",
      identity: { cluster: "1", timeline: "1", started: "1" }
    } as const
    const standby = { host: "b", port: 5432, kind: "standby", cluster: "1", follows: true } as const
    judged(
      hostsCheck,
      [standby, primary],
      "ok",
      /^a:5432 takes writes and is used; b:5432: it is a standby$/u
    )
    judged(hostsCheck, [primary, { ...standby, follows: false }], "warning", /b:5432: .* follows no primary/u)
    judged(
      hostsCheck,
      [primary, { ...standby, cluster: "2" }],
      "failed",
      /b:5432: a standby of another cluster/u
    )
    const identity = { cluster: "1", timeline: "2", started: "2" }
    judged(
      hostsCheck,
      [primary, { ...primary, host: "b", identity }],
      "failed",
      /a:5432 and b:5432 take writes/u
    )
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED" })
    const gone = { host: "b", port: 5432, kind: "failed", fault: refused } as const
    judged(hostsCheck, [primary, gone], "warning", /b:5432: nothing accepts connections there/u)
    judged(hostsCheck, [primary, { ...primary, host: "b" }], "ok", /b:5432: it takes writes/u)
    judged(hostsCheck, [primary, { host: "b", port: 5432, kind: "read_only" }], "warning", /read-only/u)
  })

  it("judge clocks by what is certain of their difference, either way", () => {
    judged(clockCheck, { ahead: 1500, uncertainty: 1 }, "ok", /1\.5 s ahead/u)
    judged(clockCheck, { ahead: -2500, uncertainty: 1 }, "warning", /2\.5 s behind/u)
    judged(clockCheck, { ahead: 2500, uncertainty: 600 }, "ok", /2\.5 s/u)
    judged(clockCheck, { ahead: 61_000, uncertainty: 5 }, "failed", /61\.0 s ahead/u)
  })

  it("judge replication by what the role is told", () => {
    judged(standbyCheck, STANDBY, "ok", /it is there/u)
    judged(standbyCheck, { ...STANDBY, synchronous: 0 }, "failed", /writes are 503/u)
    judged(standbyCheck, { ...STANDBY, synchronous: 0, hidden: 1 }, "skipped", /not told/u)
    judged(slotsCheck, [SLOT], "ok", /1 slot in use/u)
    judged(slotsCheck, [{ ...SLOT, retained_bytes: 11 * 2 ** 30 }], "warning", /11\.0 GiB/u)
    judged(slotsCheck, [{ ...SLOT, wal_status: "lost" }], "warning", /lost/u)
    judged(vacuumCheck, { tables: [], autovacuum: false, transactionAge: 1 }, "warning", /is off/u)
    judged(vacuumCheck, { tables: [], autovacuum: true, transactionAge: 1.2e9 }, "failed", /1200000000/u)
  })

  it.effect(
    "fail with the reason where the facts cannot be had, and quote no error that nobody expected",
    () =>
      Effect.gen(function* () {
        const secret = new Error("canary of an unexpected error")
        const [finding] = yield* examine(Effect.die(secret), [poolerCheck])
        assert.deepInclude(finding, { check: "database.pooler", status: "failed" })
        assert.notInclude(JSON.stringify(finding), "canary")
        assert.match(finding?.found ?? "", /an unexpected Error$/u)
      })
  )
})

const withSettings =
  (env: Readonly<Record<string, string>>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

const LIVE = {
  SVC_ENVIRONMENT: "live",
  SVC_STORE: "postgres://svc:canary@db.example/svc",
  SVC_BASE_URL: "https://api.shop.example",
  SVC_APPROVAL_BASE_URL: "https://approve.shop.example",
  SVC_MASTER_KEY: "A".repeat(43)
}

describe("checks of settings and origins", () => {
  it.effect("find nothing wrong with a live deployment", () =>
    Effect.gen(function* () {
      const findings = [...(yield* settingFindings(LIVE)), ...(yield* examine(originFacts, ORIGIN_CHECKS))]
      assert.deepStrictEqual(new Set(findings.map(({ status }) => status)), new Set(["ok"]))
    }).pipe(withSettings(LIVE))
  )

  it.effect(
    "name each setting that is missing or invalid, and what has no effect, without their values",
    () =>
      Effect.gen(function* () {
        const env = { SVC_ENVIRONMENT: "live", SVC_MASTER_KEY: "canary", SVC_RATE_LIMIT: "off" }
        const findings = yield* withSettings(env)(settingFindings({ ...env, SVC_RATELIMIT: "canary" }))
        assert.sameMembers(
          findings.filter(({ status }) => status === "failed").map(({ check }) => check),
          ["SVC_STORE", "SVC_BASE_URL", "SVC_APPROVAL_BASE_URL", "SVC_MASTER_KEY"].map(
            (name) => `settings.${name}`
          )
        )
        const warnings = findings.filter(({ status }) => status === "warning")
        assert.deepStrictEqual(
          warnings.map(({ check }) => check),
          ["settings.unknown", "settings.rate_limit"]
        )
        assert.match(warnings[0]!.found, /SVC_RATELIMIT is no setting; was SVC_RATE_LIMIT meant\?/u)
        assert.notInclude(JSON.stringify(findings), "canary")
      })
  )

  it.effect("notice origins that are one, without TLS, or of no use to passkeys", () =>
    Effect.gen(function* () {
      const origin = "http://shop.example"
      const env = { ...LIVE, SVC_BASE_URL: origin, SVC_APPROVAL_BASE_URL: origin, SVC_RP_ID: "example.org" }
      const findings = yield* withSettings(env)(examine(originFacts, ORIGIN_CHECKS))
      assert.deepStrictEqual(
        findings.map(({ check, status }) => [check, status]),
        [
          ["origins.separate", "failed"],
          ["origins.https", "failed"],
          ["origins.relying_party", "failed"]
        ]
      )
    })
  )
})

const listening = <S extends Server>(server: S) =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () => Effect.sync(() => server.close())
  )

describe("checks of names and certificates", () => {
  const check = (address: string) => ({ serves: "api" as const, url: new URL(address) })

  it.live("tell a name without address from name servers that do not answer", () =>
    Effect.gen(function* () {
      for (const [resolve, status] of [
        [() => Effect.succeed(["192.0.2.1"]), "ok"],
        [() => Effect.succeed([]), "failed"],
        [() => Effect.fail(new ResolutionFailed({ cause: undefined })), "warning"]
      ] as const) {
        const facts = yield* Effect.provideService(nameFacts(check("https://api.shop.example")), Network, {
          resolve
        })
        assert.strictEqual(nameCheck("api").judge(facts).status, status)
      }
      for (const local of ["http://localhost:1", "https://192.0.2.1"]) {
        assert.strictEqual(nameCheck("api").judge(yield* nameFacts(check(local))).status, "skipped")
      }
    })
  )

  it.live("look at the certificate that is presented, and send no request", () =>
    Effect.gen(function* () {
      const { cert, key } = selfSignedCertificate(["localhost"])
      const received: Array<Buffer> = []
      const port = yield* listening(
        createTlsServer({ cert, key }, (socket) => {
          socket.on("data", (bytes) => received.push(bytes))
          socket.on("error", () => socket.destroy())
        })
      )
      const closed = yield* Effect.scoped(listening(createServer()))
      const resolve = () => Effect.succeed([])
      for (const [address, ca, status, found] of [
        [`https://localhost:${port}`, cert, "warning", /ends in 0 days/u],
        [`https://localhost:${port}`, undefined, "failed", /not good \(DEPTH_ZERO_SELF_SIGNED_CERT\)/u],
        [`https://127.0.0.1:${port}`, cert, "failed", /not good \(ERR_TLS_CERT_ALTNAME_INVALID\)/u],
        [`https://localhost:${closed}`, cert, "warning", /gets no TLS connection .* \(ECONNREFUSED\)/u],
        [`http://localhost:${port}`, cert, "skipped", /without TLS/u]
      ] as const) {
        const facts = yield* Effect.provideService(certificateFacts(check(address)), Network, {
          resolve,
          ...(ca === undefined ? {} : { ca })
        })
        judged(certificateCheck("api"), facts, status, found)
      }
      assert.deepStrictEqual(received, [])
    }).pipe(Effect.scoped)
  )
})

describe("checks of time zone data", () => {
  const statusesOf = (...given: Parameters<typeof timeZoneFacts>) => {
    const facts = timeZoneFacts(...given)
    return TIME_ZONE_CHECKS.map(({ judge }) => judge(facts))
  }

  it("find the data of this process complete and recent", () => {
    assert.deepStrictEqual(
      statusesOf(processOffset, process.versions.tz).map(({ status }) => status),
      ["ok", "ok"]
    )
  })

  it("notice old rules, names that are not known, and data of no release", () => {
    const old = statusesOf((zone) => (zone === "Europe/Berlin" ? 7200 : 0), "2021a")
    assert.match(old[1]!.found, /^tzdata 2021a is older than 2022e: Asia\/Amman, /u)
    const few = statusesOf((zone) => (zone === "UTC" ? undefined : 0), "2026a")
    assert.match(few[0]!.found, /^UTC: not known here/u)
    const offsets = new Map(CANARIES.map(({ offset, zone }) => [zone, offset]))
    assert.strictEqual(statusesOf((zone) => offsets.get(zone) ?? 0, undefined)[1]!.status, "warning")
  })
})
