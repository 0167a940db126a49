import { causesOf, PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode, repetitionOf } from "@svc/protocol/Problem"
import { html } from "hono/html"
import { basePathOf } from "../http/BasePath.ts"
import { problemOf } from "../http/ProblemResponse.ts"

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem}
pre{overflow:auto;padding:1rem;border:1px solid;border-radius:.25rem}
h1 small{display:block;font-size:1rem;font-weight:normal}`

/** Recognizably not a real request id. */
const EXAMPLE_REQUEST_ID = "00000000-0000-4000-8000-000000000000"

const example = (code: ProblemCode, baseUrl: string): string => {
  const facts = { requestId: EXAMPLE_REQUEST_ID, baseUrl, route: undefined }
  const errors = [
    { pointer: "/policy/currency", code: "invalid_value", detail: "Must be a current ISO 4217 code." }
  ]
  return JSON.stringify(problemOf(code === "validation_failed" ? { code, errors } : { code }, facts), null, 2)
}

/** The page of a problem: cause, remedy and an example (part 2). */
export const problemPage = (code: ProblemCode, baseUrl: string): string => {
  const kind = PROBLEMS[code]
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${kind.title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${kind.title}<small><code>${code}</code>, status ${kind.status}, ${repetitionOf(code)}</small></h1>
<h2>Cause</h2>
<p>${causesOf(code)}</p>
<h2>Remedy</h2>
<p>${kind.remedy}</p>
<h2>Example</h2>
<pre><code>HTTP/1.1 ${kind.status}
Content-Type: ${PROBLEM_MEDIA_TYPE}

${example(code, baseUrl)}</code></pre>
<p><a href="${basePathOf(baseUrl)}/docs">All of the interface</a></p>
</main>
</body>
</html>
`)
}
