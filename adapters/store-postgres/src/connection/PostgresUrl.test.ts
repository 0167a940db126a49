import { assert, describe, it } from "vitest"
import { postgresAddressOf } from "./PostgresUrl.ts"

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
})
