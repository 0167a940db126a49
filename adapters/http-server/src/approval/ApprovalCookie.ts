import { Redacted } from "effect"

/** base64url of 32 random bytes. */
const VALUE = /^[A-Za-z0-9_-]{43}$/u

/**
 * The name of the cookie that binds an approval session to a browser (part 6). Over HTTPS it has the `__Host-` prefix, so
 * that no other host can set it; browsers reject the prefix on `http://localhost`, the origin of the development server.
 */
export const approvalCookieName = (sessionId: string, approvalOrigin: string): string =>
  isSecure(approvalOrigin) ? `__Host-svc_${sessionId}` : `svc_${sessionId}`

const isSecure = (origin: string): boolean => origin.startsWith("https:")

/** The value of the cookie of that name; `undefined` if there are several, since any of them may be forged. */
export const readApprovalCookie = (
  header: string | undefined,
  name: string
): Redacted.Redacted<string> | undefined => {
  const [value, ...others] = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  return value !== undefined && others.length === 0 && VALUE.test(value)
    ? Redacted.make(value, { label: "approval_cookie" })
    : undefined
}

/** The `Set-Cookie` header that binds a session to a browser. */
export const approvalCookieHeader = (
  bind: {
    readonly sessionId: string
    readonly cookie: Redacted.Redacted<string>
    readonly maxAgeSeconds: number
  },
  approvalOrigin: string
): string =>
  [
    `${approvalCookieName(bind.sessionId, approvalOrigin)}=${Redacted.value(bind.cookie)}`,
    "Path=/",
    `Max-Age=${bind.maxAgeSeconds}`,
    "HttpOnly",
    ...(isSecure(approvalOrigin) ? ["Secure"] : []),
    "SameSite=Strict"
  ].join("; ")
