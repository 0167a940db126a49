import { assert, it } from "@effect/vitest"
import { viewerPage } from "@svc/viewer"
import { viewerFile } from "./ViewerFile.ts"

it("the viewer is built from the present sources (else: npm run build:viewer)", async () => {
  assert.strictEqual(viewerPage(), await viewerFile())
})

it("the viewer may load and send nothing, and names no address", () => {
  const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]+)"/u.exec(viewerPage()) ?? []
  assert.match(
    policy,
    /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; worker-src blob:;/u
  )
  assert.notMatch(policy, /connect-src|unsafe|https?:/u)
  assert.notMatch(viewerPage(), /<(?:link|script|img|iframe)[^>]+(?:src|href)="(?!data:)/u)
})
