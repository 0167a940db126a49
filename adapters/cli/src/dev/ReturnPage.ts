import { createHash } from "node:crypto"
import { html } from "hono/html"

/** What the page shows. */
export interface Returned {
  /** From the query, as they were sent. */
  readonly returnState: string | undefined
  readonly approvalSessionId: string | undefined
  /** Absent if no development organization has the approval session. */
  readonly mandateId: string | undefined
  readonly baseUrl: string
  /** A shell command that prints the API key of the mandate's organization. */
  readonly apiKeyCommand: string
}

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
pre{padding:.75rem 1rem;border:1px solid;border-radius:.25rem;white-space:pre-wrap}
li{margin-block:1rem}`

const styleHash = createHash("sha256").update(STYLE).digest("base64")

/** Headers of every response of the listener, in lower case. */
export const RETURN_PAGE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
} as const

const missingParameters = html`<p>A browser comes here with <code>return_state</code> and <code>approval_session_id</code> in the
query, and this one has not both: it was not sent by an approval page.</p>`

const steps = (returned: Returned, mandate: string) => html`<ol>
<li>Check that <code>return_state</code> is the value that your application drew for this very browser. It came as
<pre><code>${returned.returnState}</code></pre></li>
<li>Read the mandate from your server, in the shell of the tour or in any other:
<pre><code>call GET /v1/mandates/${mandate}</code></pre>
<pre><code>curl ${returned.baseUrl}/v1/mandates/${mandate} -H "Authorization: Bearer $(${returned.apiKeyCommand})"</code></pre>
${
  returned.mandateId === undefined
    ? html`No session of the development organizations is <code>${returned.approvalSessionId}</code>: put the mandate's identifier in.`
    : html``
}</li>
<li>Its <code>state</code> is the answer. <code>ACTIVE</code> (or <code>SCHEDULED</code>, before its window): approved, so
propose actions. <code>REJECTED</code>: declined. <code>PENDING_APPROVAL</code>: not decided, so open another session when the user
wants one.</li>
</ol>`

/** The page that `return_url` leads to in development. */
export const returnPage = (returned: Returned): string => {
  const isReturn = returned.returnState !== undefined && returned.approvalSessionId !== undefined
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Back from the approval page</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Back from the approval page</h1>
<p>The development server shows this page in the place of your application. That a browser comes back proves nothing, and
nothing of what was decided comes with it: anybody can open this address.</p>
${isReturn ? steps(returned, returned.mandateId ?? "MANDATE") : missingParameters}
</main>
</body>
</html>
`)
}
