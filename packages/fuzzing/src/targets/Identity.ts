import type { IdentitySettings } from "@svc/domain/organization/Organization"
import { IdentityAssertionRefused, IdentityVerifier } from "@svc/domain/ports/IdentityVerifier"
import { layer } from "@svc/identity-jwt/IdentityVerifierJose"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { makeIdentityIssuer } from "@svc/testkit/IdentityIssuer"
import { Cause, Effect, Exit } from "effect"
import { CompactSign, importJWK } from "jose"
import { bytesOf, demand, type FuzzTarget, latin1Of, partsOf } from "../FuzzTarget.ts"

const NOW_SECONDS = 1_800_000_000
const NOW = BigInt(NOW_SECONDS) * 1_000_000_000n
const SUBJECT = "user_8f2"

const issuer = makeIdentityIssuer({
  issuer: "https://id.example",
  audience: "svc",
  privateJwk: {
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    kid: "k1"
  }
})

const settings: IdentitySettings = {
  issuer: issuer.issuer,
  audience: issuer.audience,
  algorithms: ["ES256"],
  keys: { jwks: issuer.publicJwks }
}

const HEADER = '{"alg":"ES256","kid":"k1","typ":"JWT"}'
const CLAIMS = JSON.stringify({
  iss: "https://id.example",
  sub: SUBJECT,
  aud: "svc",
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 300,
  jti: "one-of-a-kind-0001"
})

const key = importJWK({ ...issuer.privateJwk }, "ES256")

const verify = (assertion: string) =>
  IdentityVerifier.use((verifier) =>
    verifier.verify({ organization: "org_1", assertion, settings, now: NOW })
  ).pipe(Effect.provide(layer))

/** Refuses with a refusal, or takes what has the subject and the times that it says. */
const check = async (assertion: string): Promise<boolean> => {
  const exit = await Effect.runPromiseExit(verify(assertion))
  if (Exit.isSuccess(exit)) {
    const { expiresAt, issuer: by, jti, subject } = exit.value
    demand(by === issuer.issuer && subject !== "" && jti !== "", "an assertion without its claims is taken")
    demand(expiresAt > NOW - 60_000_000_000n, "an assertion that is over is taken")
    return true
  }
  const error = Cause.findErrorOption(exit.cause)
  demand(error._tag === "Some" && error.value instanceof IdentityAssertionRefused, Cause.pretty(exit.cause))
  return false
}

const signed = async (claims: Uint8Array): Promise<string> =>
  new CompactSign(claims).setProtectedHeader(JSON.parse(HEADER)).sign(await key)

/** Assertions with any header, claims and signature; then the claims as whoever has the key would sign them. */
export const identityAssertions: FuzzTarget = {
  seeds: [
    `${HEADER}\n%%\n${CLAIMS}`,
    `{"alg":"none"}\n%%\n${CLAIMS}`,
    `{"alg":"ES256","crit":["b64"],"b64":false}\n%%\n${CLAIMS}`,
    `${HEADER}\n%%\n${CLAIMS.replace('"svc"', '["svc","other"]')}`
  ],
  words: [
    '"alg":',
    '"ES256"',
    '"none"',
    '"HS256"',
    '"kid":',
    '"iss":',
    '"sub":',
    '"aud":',
    '"iat":',
    '"exp":',
    '"nbf":',
    '"jti":',
    '"svc_enrol":true',
    "1800000000",
    "1800000300",
    "1e10",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n%%\n"
  ],
  run: async (input) => {
    const [header = "", ...rest] = partsOf(input)
    const claims = Uint8Array.from(Buffer.from(rest.join("\n%%\n"), "latin1"))
    const parts = [encodeBase64Url(Buffer.from(header, "latin1")), encodeBase64Url(claims)]
    demand(
      !(await check([...parts, encodeBase64Url(new Uint8Array(64))].join("."))),
      "a signature of zeros is taken"
    )
    demand(!(await check(latin1Of(input))), "what is no assertion is taken")
    const isTaken = await check(await signed(claims))
    if (!isTaken) return
    const said = JSON.parse(new TextDecoder().decode(claims))
    demand(
      said.iss === "https://id.example" && typeof said.sub === "string",
      "claims are taken that were not made"
    )
    demand([said.aud].flat().includes("svc"), "an assertion for somebody else is taken")
    demand(Number.isFinite(said.exp) && Number.isFinite(said.iat), "an assertion without times is taken")
  }
}

export const rightAssertion = (): Promise<string> => signed(bytesOf(CLAIMS))
