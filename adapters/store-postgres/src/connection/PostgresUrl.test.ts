import { assert, describe, it } from "vitest"
import { nameOfHost, postgresAddressOf, postgresUrlFault } from "./PostgresUrl.ts"

describe("postgresAddressOf", () => {
  for (const [parameters, passed] of [
    ["", ""],
    ["?ssl=true", "?sslmode=require"],
    ["?ssl=false", "?sslmode=disable"],
    ["?ssl=true&sslmode=verify-full", "?sslmode=verify-full"],
    ["?sslrootcert=ca.pem", "?sslmode=verify-full"],
    ["?sslrootcert=ca.pem&ssl=true", "?sslmode=verify-full"],
    ["?sslrootcert=system&sslmode=require", "?sslmode=require"],
    ["?options=-c%20a%3Db&sslmode=prefer", "?options=-c%20a%3Db&sslmode=prefer"]
  ] as const) {
    it(`reads the encryption that ${parameters || "no parameter"} means`, () => {
      const { url } = postgresAddressOf(`postgres://user:pass@db/svc${parameters}`)
      assert.strictEqual(url, `postgres://user:pass@db/svc${passed}`)
    })
  }

  it("reads the address from the URL or from its parameters", () => {
    const text = "postgres://u@[::1]:5433/a%20b?connect_timeout=7&application_name=x&sslrootcert=ca.pem"
    assert.deepInclude(postgresAddressOf(text), {
      host: "::1",
      port: 5433,
      database: "a b",
      connectTimeoutSeconds: 7,
      applicationName: "x",
      rootCertificate: "ca.pem"
    })
    assert.deepInclude(postgresAddressOf("postgres:///?host=/run/pg&port=5434&dbname=svc"), {
      host: "/run/pg",
      port: 5434,
      database: "svc"
    })
    assert.deepInclude(postgresAddressOf("postgres://db"), { host: "db", port: 5432, database: undefined })
  })

  for (const [text, hosts, url] of [
    ["postgres://u:p@a:5433,b/svc", ["a:5433", "b:5432"], "postgres://u:p@a:5433/svc"],
    [
      "postgres://u:a,b@[::1],[::2]:5/svc?sslmode=require",
      ["[::1]:5432", "[::2]:5"],
      "postgres://u:a,b@[::1]/svc?sslmode=require"
    ],
    ["postgres://u@a,b/svc?port=6", ["a:6", "b:6"], "postgres://u@a/svc?port=6"],
    ["postgres:///svc?host=/r/a,b&port=1,2", ["/r/a:1", "b:2"], "postgres:///svc?host=%2Fr%2Fa&port=1"],
    ["postgres:///svc?host=a,b&port=1", ["a:1", "b:1"], "postgres:///svc?host=a&port=1"],
    ["postgres:///svc?host=a,b&port=1,", ["a:1", "b:5432"], "postgres:///svc?host=a&port=1"],
    ["postgres://a/svc?target_session_attrs=primary", ["a:5432"], "postgres://a/svc"],
    [
      "postgres://a,b/svc?target_session_attrs=read-write&load_balance_hosts=disable&connect_timeout=2",
      ["a:5432", "b:5432"],
      "postgres://a/svc?connect_timeout=2"
    ]
  ] as const) {
    it(`reads the hosts of ${text}`, () => {
      assert.isUndefined(postgresUrlFault(text))
      const address = postgresAddressOf(text)
      assert.deepStrictEqual(address.hosts.map(nameOfHost), [...hosts])
      assert.isTrue(address.isSought)
      assert.strictEqual(address.url, url)
    })
  }

  it("looks for no host where there is one", () => {
    const { hosts, isSought } = postgresAddressOf("postgres://u:a,b@db/svc")
    assert.deepStrictEqual([hosts.map(nameOfHost), isSought], [["db:5432"], false])
  })
})
