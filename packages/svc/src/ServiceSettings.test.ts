import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { makeShop, RETURN_ORIGIN } from "../test/Shop.ts"
import { createService, type OrganizationSettings, type ServiceOptions } from "./index.ts"
import { memory } from "./memory.ts"
import { pglite } from "./pglite.ts"
import { postgres } from "./postgres.ts"
import { settingsOf } from "./ServiceSettings.ts"

const LIVE = {
  environment: "live",
  baseUrl: "https://api.shop.example/mandates",
  approvalUrl: "https://approve.shop.example",
  store: pglite({ folder: "unused" }),
  masterKey: new Uint8Array(32)
} as const

/** Options of a host without a compiler. */
type Wrong = { readonly [Name in keyof ServiceOptions]?: unknown } & Readonly<Record<string, unknown>>

const faultOf = (wrong: Wrong): string => {
  try {
    settingsOf(makeShop(wrong as Partial<ServiceOptions>).serviceOptions)
  } catch (error) {
    assert.instanceOf(error, TypeError)
    return (error as TypeError).message
  }
  return "no fault"
}

const organization = (wrong: { readonly [Name in keyof OrganizationSettings]?: unknown }) => ({
  organizations: [
    { id: "org_01jd0000000000000000000000", name: "Shop", returnOrigins: [RETURN_ORIGIN], ...wrong }
  ]
})

const identity = (wrong: Readonly<Record<string, unknown>>) =>
  organization({
    identity: {
      issuer: "https://id.example",
      audience: "svc",
      algorithms: ["ES256"],
      keys: { jwksUri: "https://id.example/jwks.json" },
      ...wrong
    }
  })

const publicJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
const sign = async () => new Uint8Array(64)

const FAULTS: ReadonlyArray<readonly [string, Wrong, RegExp]> = [
  ["a misspelt option", { mastrKey: "x" }, /no option "mastrKey"; was masterKey meant\?/u],
  ["an option in the wrong place", { rateLimit: "off" }, /no option "rateLimit"; it is limits\.rateLimit/u],
  ["another environment", { environment: "production" }, /environment must be "test" or "live"/u],
  ["no base URL", { baseUrl: undefined }, /baseUrl must be a URL/u],
  ["a base URL with a query", { baseUrl: "http://localhost:3000/?a" }, /baseUrl must have no query/u],
  [
    "no HTTPS in live",
    { ...LIVE, approvalUrl: "http://localhost:3000" },
    /approvalUrl must begin with https/u
  ],
  ["one origin in live", { ...LIVE, approvalUrl: "https://api.shop.example/a" }, /another origin/u],
  ["one path", { approvalUrl: "http://localhost:3000/mandates" }, /different hosts or different paths/u],
  [
    "one path on one host that is written in two ways",
    { baseUrl: "http://LOCALHOST:80/approvals/", approvalUrl: "http://localhost./approvals" },
    /different hosts or different paths/u
  ],
  [
    "one origin in live that is written in two ways",
    { ...LIVE, approvalUrl: "https://API.shop.example.:443/a" },
    /another origin/u
  ],
  ["an address for a host", { approvalUrl: "https://192.168.1.7/a" }, /not the address 192\.168\.1\.7/u],
  ["an IPv6 address for a host", { approvalUrl: "http://[::1]:3000/a" }, /not the address ::1/u],
  ["a foreign rpId", { rpId: "other.example" }, /rpId must be localhost, the host of approvalUrl/u],
  ["a top-level domain for rpId", { ...LIVE, rpId: "example" }, /at least two labels/u],
  [
    "an rpId below the host",
    { ...LIVE, rpId: "www.approve.shop.example" },
    /rpId must be approve\.shop\.example/u
  ],
  ["an rpId in capitals", { ...LIVE, rpId: "Shop.Example" }, /in lower case/u],
  ["a store that is none", { store: memory }, /store must be memory\(\)/u],
  [
    "a store of the process in live",
    { ...LIVE, store: memory() },
    /must outlive the process in the live environment/u
  ],
  ["a store in no folder in live", { ...LIVE, store: pglite() }, /must outlive the process/u],
  ["a short master key", { masterKey: "AAAA" }, /masterKey must be 32 bytes/u],
  ["a master key that is a number", { masterKey: 32 }, /masterKey must be 32 bytes/u],
  [
    "a short previous master key",
    { masterKeyPrevious: new Uint8Array(16) },
    /masterKeyPrevious must be 32 bytes/u
  ],
  ["no master key with a lasting store", { store: pglite({ folder: "unused" }) }, /masterKey is missing/u],
  ["a function that is none", { authenticate: "x" }, /authenticate must be a function/u],
  ["a switch that is none", { docs: "no" }, /docs must be true or false/u],
  [
    "webhooks to this machine in live",
    { ...LIVE, webhookAllowLoopback: true },
    /webhookAllowLoopback is for the test/u
  ],
  ["limits that are none", { limits: 5 }, /limits must be an object/u],
  [
    "an unknown limit",
    { limits: { webhookRetention: 5 } },
    /no option "webhookRetention" of limits; it takes rateLimit/u
  ],
  ["a rate of nothing", { limits: { rateLimit: { rate: 0, burst: 0 } } }, /limits\.rateLimit/u],
  ["a rate of half a request", { limits: { rateLimit: { rate: 0.5, burst: 1 } } }, /limits\.rateLimit/u],
  ["a retention of no time", { limits: { webhookRetentionDays: 0 } }, /limits\.webhookRetentionDays/u],
  [
    "ids of assertions that are kept too short",
    { limits: { assertionRetentionDays: 0.5 } },
    /limits\.assertionRetentionDays must be a whole number of 1 to 36500/u
  ],
  [
    "too few deliveries",
    { limits: { webhookAttempts: 1 } },
    /limits\.webhookAttempts must be a whole number of 32/u
  ],
  ["a signer that is none", { signer: "kms" }, /signer must be an object/u],
  ["a signer without a key", { signer: { sign } }, /signer\.publicJwk must be a public key/u],
  ["a signer that cannot sign", { signer: { publicJwk } }, /signer\.sign must be a function/u],
  [
    "a signer with another kind of key",
    { signer: { publicJwk: { ...publicJwk, crv: "P-384" }, sign } },
    /P-256/u
  ],
  ["a point off the curve", { signer: { publicJwk: { ...publicJwk, x: publicJwk.y }, sign } }, /P-256/u],
  ["a private key", { signer: { publicJwk: { ...publicJwk, d: "x" }, sign } }, /private member d/u],
  [
    "an unknown member of the signer",
    { signer: { publicJwk, sign, kid: "k" } },
    /no option "kid" of signer/u
  ],
  [
    "published keys that are none",
    { signer: { publicJwk, sign, published: [{}] } },
    /signer\.published\[0\]/u
  ],
  ["organizations that are no list", { organizations: {} }, /organizations must be a list/u],
  [
    "one organization twice",
    { organizations: [...organization({}).organizations, ...organization({}).organizations] },
    /two organizations have the same id/u
  ],
  ["an organization's id that is none", organization({ id: "shop" }), /organizations\[0\]\.id is "shop"/u],
  ["an organization without a name", organization({ name: "" }), /organizations\[0\]\.name/u],
  [
    "a misspelt setting",
    organization({ returnOrigin: [] } as object),
    /"returnOrigin" of organizations\[0\]; was returnOrigins/u
  ],
  [
    "a return origin with a path",
    organization({ returnOrigins: ["https://a.example/b"] }),
    /"https:\/\/a\.example\/b"/u
  ],
  ["a long grace", organization({ reportGraceSeconds: 3601 }), /reportGraceSeconds must be a whole number/u],
  ["no grace in live", { ...LIVE, ...organization({}) }, /reportGraceSeconds must be given in the live/u],
  ["another enrolment", organization({ passkeyEnrolment: "ALWAYS" }), /passkeyEnrolment/u],
  [
    "an identity that is a text",
    organization({ identity: "https://id.example" }),
    /organizations\[0\]\.identity must be an object/u
  ],
  ["an identity without an audience", identity({ audience: undefined }), /identity\.audience/u],
  ["an unknown algorithm", identity({ algorithms: ["HS256"] }), /identity\.algorithms/u],
  [
    "keys in the wrong place",
    identity({ keys: { keys: [] } }),
    /no option "keys" of organizations\[0\]\.identity\.keys/u
  ],
  ["no keys", identity({ keys: { jwks: { keys: [] } } }), /at least one public key/u],
  [
    "two sources of keys",
    identity({ keys: { jwks: { keys: [{}] }, jwksUri: "https://a.example/" } }),
    /and not both/u
  ],
  [
    "keys over plain HTTP",
    identity({ keys: { jwksUri: "http://id.example/jwks" } }),
    /identity\.keys\.jwksUri/u
  ],
  ["keys of this machine", identity({ keys: { jwksUri: "http://localhost:4000/jwks" } }), /jwksUri/u]
]

describe("settingsOf", () => {
  for (const [what, wrong, message] of FAULTS)
    it(`refuses ${what}, and says what to do`, () => assert.match(faultOf(wrong), message))

  it("says everything that is wrong at once", () => {
    const message = faultOf({ environment: "prod", baseUrl: 1, docs: 1, limits: { webhookAttempts: "many" } })
    assert.match(message, /^createService: 4 options are wrong:\n/u)
    for (const name of ["environment", "baseUrl", "docs", "limits.webhookAttempts"])
      assert.include(message, name)
  })

  it("quotes no secret", () => {
    const secret = "canary-0123456789"
    assert.notInclude(
      faultOf({ masterKey: secret, masterKeyPrevious: secret, signer: { publicJwk: { d: secret }, sign } }),
      "canary"
    )
    assert.throws(() => postgres({ url: `postgres://user:${secret}@db/x?sslmod=require` }), /sslmode/u)
    try {
      postgres({ url: `postgres://user:${secret}@db/x?sslmod=require` })
    } catch (error) {
      assert.notInclude(String(error), "canary")
    }
  })

  it("takes members that are undefined for ones that are not given", () => {
    const none = Object.fromEntries(
      [
        "rpId",
        "masterKey",
        "masterKeyPrevious",
        "signer",
        "authenticate",
        "identify",
        "logger",
        "limits",
        "worker"
      ].map((name) => [name, undefined])
    )
    assert.strictEqual(faultOf(none), "no fault")
    const { organizations } = settingsOf(
      makeShop(
        organization({ identity: undefined, reportGraceSeconds: undefined }) as Partial<ServiceOptions>
      ).serviceOptions
    )
    assert.notProperty(organizations[0], "identity")
    assert.strictEqual(organizations[0]?.reportGraceSeconds, 0)
  })

  it("takes what it may", () => {
    assert.strictEqual(
      faultOf({ ...LIVE, rpId: "shop.example", ...organization({ reportGraceSeconds: 0 }) }),
      "no fault"
    )
    assert.strictEqual(faultOf({ approvalUrl: "http://approve.localhost:3000" }), "no fault")
    assert.strictEqual(
      faultOf({
        webhookAllowLoopback: true,
        ...identity({ keys: { jwksUri: "http://localhost:4000/jwks" } })
      }),
      "no fault"
    )
    assert.strictEqual(
      faultOf({
        limits: {
          rateLimit: "off",
          webhookRetentionDays: 1,
          assertionRetentionDays: 36_500,
          webhookAttempts: 32
        }
      }),
      "no fault"
    )
    assert.strictEqual(faultOf({ signer: { publicJwk, sign, published: [publicJwk] } }), "no fault")
  })

  it("goes by the options as they were", () => {
    const { serviceOptions } = makeShop()
    const given = { ...serviceOptions }
    const { options } = settingsOf(given)
    given.baseUrl = "http://elsewhere.example"
    assert.strictEqual(options.baseUrl, serviceOptions.baseUrl)
  })
})

describe("the options of a store", () => {
  for (const [what, make, message] of [
    [
      "of memory",
      () => memory(...([{}] as unknown as ReadonlyArray<never>)),
      /^memory: it takes no options/u
    ],
    [
      "of PGlite that there is not",
      () => pglite({ dir: "x" } as object),
      /^pglite: .*"dir"; it takes folder/u
    ],
    [
      "of PGlite that is a text",
      () => pglite("x" as unknown as object),
      /^pglite: options must be an object/u
    ],
    ["of PGlite that is empty", () => pglite({ folder: "" }), /folder must be the path/u],
    ["for no server", () => postgres({} as never), /^postgres: Give one of url and pool/u],
    [
      "without options",
      () => (postgres as () => unknown)(),
      /options must be an object\. Give one of url and pool/u
    ],
    [
      "with a connectionString",
      () => postgres({ connectionString: "postgres://db" } as never),
      /no option "connectionString": it is called url[\s\S]*Give one of url and pool/u
    ],
    [
      "with ssl beside a URL",
      () => postgres({ url: "postgres://db", ssl: true } as never),
      /no option "ssl": .*sslmode=verify-full.*new Pool\(\{ ssl \}\)/u
    ],
    [
      "with ssl alone",
      () => postgres({ ssl: true } as never),
      /"ssl": .*sslmode[\s\S]*Give one of url and pool/u
    ],
    ["with a host", () => postgres({ host: "db" } as never), /no option "host": it is part of url/u],
    [
      "with a pool for its options",
      () => postgres({ query: sign } as never),
      /this is a pool.*or \{ pool \}/u
    ],
    ["for two servers", () => postgres({ url: "postgres://db", pool: {} } as never), /both given/u],
    ["with another URL", () => postgres({ url: "mysql://db/x" }), /url must be postgres:/u],
    [
      "with an unknown parameter",
      () => postgres({ url: "postgres://db/x?sslmod=require" }),
      /was sslmode meant/u
    ],
    ["with a pool that is none", () => postgres({ pool: {} } as never), /pool must be a Pool of pg/u],
    [
      "with a pool and connections",
      () => postgres({ pool: { query: sign }, readConnections: 1 } as never),
      /"readConnections"/u
    ],
    [
      "with no connections",
      () => postgres({ url: "postgres://db", writeConnections: 0 }),
      /writeConnections must be/u
    ],
    [
      "with many partitions",
      () => postgres({ url: "postgres://db", partitions: 65 }),
      /partitions must be .* 1 to 64/u
    ],
    ["with no schema", () => postgres({ url: "postgres://db", schema: "" }), /schema must be the name/u],
    [
      "with other migrations",
      () => postgres({ url: "postgres://db", migrations: "no" as "run" }),
      /"run" or "require"/u
    ]
  ] as const)
    it(`are refused ${what}`, () => assert.throws(make, message))

  it("are taken as the server takes them", () => {
    assert.isTrue(
      postgres({ url: "postgres://user@db:5432/svc?sslmode=verify-full", partitions: 8 }).outlivesProcess
    )
  })
})

describe("createService", () => {
  it("refuses identity keys that must not be trusted when it opens", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const jwk = privateKey.export({ format: "jwk" })
    const { serviceOptions } = makeShop(
      identity({ keys: { jwks: { keys: [jwk] } } }) as Partial<ServiceOptions>
    )
    const service = createService(serviceOptions)
    const refused = await service.ready().then(
      () => "open",
      (error: unknown) => String(error)
    )
    assert.match(refused, /identity keys of the organization .* register public keys alone/u)
    assert.notInclude(refused, String(jwk.d))
    await service.close()
  })
})
