import { assert, it } from "@effect/vitest"
import { after, approve, at, created, ENDS, recurring, revoke, until } from "../../test/MandateStory.ts"
import { mandateRecordOf } from "./MandateResource.ts"

it("a mandate shows a description, an approval and an end where it has them, and nothing in their place (part 4)", () => {
  const plain = created(recurring())
  const approved = after(created(recurring({ description: "Books" })), approve, at("2026-11-29T00:00:00Z"))
  const revoked = after(plain, revoke("lost interest"), at("2026-11-29T00:00:00Z"))
  const ended = until(approved, ENDS)
  const shown = [plain, approved, revoked, ended].map(({ stream }) => {
    const { approved_at, description, end_reason, ended_at, revocation } = mandateRecordOf(stream.mandate)
    return { approved_at, description, end_reason, ended_at, revocation }
  })
  const none = {
    approved_at: undefined,
    description: undefined,
    end_reason: undefined,
    ended_at: undefined,
    revocation: undefined
  }
  const given = { description: "Books", approved_at: "2026-11-29T00:00:00.000000000Z" }
  assert.deepStrictEqual(shown, [
    none,
    { ...none, ...given },
    { ...none, ended_at: "2026-11-29T00:00:00.000000000Z", revocation: { reason: "lost interest" } },
    { ...none, ...given, ended_at: "2027-12-01T00:00:00.000000000Z", end_reason: "WINDOW_ENDED" }
  ])
  const optional = ["approved_at", "description", "end_reason", "ended_at", "revocation"]
  assert.doesNotHaveAnyKeys(mandateRecordOf(plain.stream.mandate), optional)
})
