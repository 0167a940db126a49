import { Redacted } from "effect"

/** base64url of 32 random bytes. */
const VALUE = /^[A-Za-z0-9_-]{43}$/u

/**
 * The cookie that binds a session to its browser (part 6). Over HTTPS its name has the `__Host-` prefix, so that no
 * other host and no path can set it; `http://localhost`, the development server's origin, cannot carry that.
 */
export const approvalCookieName = (sessionId: string, approvalOrigin: string): string =>
  isSecure(approvalOrigin) ? `__Host-svc_${sessionId}` : `svc_${sessionId}`

const isSecure = (origin: string): boolean => origin.startsWith("https:")

/** The value of the one cookie of that name. A name that comes twice has no value: nobody knows which one is ours. */
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

/** The `Set-Cookie` header that gives a browser its session. */
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
