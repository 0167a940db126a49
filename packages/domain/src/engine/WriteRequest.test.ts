import { assert, describe, it } from "@effect/vitest"
import { harnessDeployment, harnessOrganization } from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"
import { REPORT_GRACE_MAX_SECONDS } from "../organization/Organization.ts"
import { admitWrite, BARE_WRITE, LIFECYCLE_WRITE, type WriteRule } from "./WriteRequest.ts"

const organization = harnessOrganization()
const request = { organization, idempotencyKey: "key-1", body: {}, mandateId: "mnd_1" }

/** What comes of a request with other parts: the admitted write, or the refusal by its tag and pointers. */
const admitted = (parts: { readonly [name: string]: unknown }, rule: WriteRule = LIFECYCLE_WRITE) =>
  admitWrite({ ...request, ...parts } as never, rule, ["mandateId"]).pipe(
    Effect.result,
    Effect.map((result): unknown => {
      if (Result.isSuccess(result)) return result.success
      const { failure } = result
      return failure._tag === "ValidationFailed"
        ? failure.errors.map(({ code, pointer }) => `${pointer} ${code}`)
        : failure._tag
    }),
    Effect.provide(harnessDeployment)
  )

const grace = (reportGraceSeconds: unknown) => ({ organization: { ...organization, reportGraceSeconds } })
const NO_GRACE = ["/organization/reportGraceSeconds invalid_value"]

describe("a write", () => {
  it.effect("keeps of its request what was checked", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* admitted({ ...grace(REPORT_GRACE_MAX_SECONDS), body: { reason: "r" } }), {
        organization: { id: organization.id, reportGraceSeconds: 3600 },
        idempotencyKey: "key-1",
        body: { reason: "r" },
        path: { mandateId: "mnd_1" }
      })
    })
  )

  const refused: Readonly<Record<string, readonly [{ readonly [name: string]: unknown }, unknown]>> = {
    "of no organization": [{ organization: undefined }, "OrganizationUnknown"],
    "of an organization without an identifier": [
      { organization: { ...organization, id: 1 } },
      "OrganizationUnknown"
    ],
    "of an organization by another resource's identifier": [
      { organization: { ...organization, id: organization.id.replace("org_", "mnd_") } },
      "OrganizationUnknown"
    ],
    "of another environment": [
      { organization: { ...organization, environment: "live" } },
      "OrganizationUnknown"
    ],
    "with a grace below 0": [grace(-1), NO_GRACE],
    "with a grace above an hour": [grace(3601), NO_GRACE],
    "with a grace of half a second": [grace(0.5), NO_GRACE],
    "with a grace as text": [grace("60"), NO_GRACE],
    "without a key": [{ idempotencyKey: undefined }, "IdempotencyKeyRequired"],
    "with an empty key": [{ idempotencyKey: "" }, "IdempotencyKeyRequired"],
    "with a key that is no text": [{ idempotencyKey: 7 }, "IdempotencyKeyInvalid"],
    "with a key that has a space": [{ idempotencyKey: "key 1" }, "IdempotencyKeyInvalid"],
    "with a body that is no JSON": [{ body: { at: 1n } }, ["/at invalid_type"]],
    "with several faults, of which the first counts": [
      { idempotencyKey: "", body: { at: 1n } },
      "IdempotencyKeyRequired"
    ]
  }
  for (const [title, [parts, expected]] of Object.entries(refused)) {
    it.effect(`is refused ${title}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* admitted(parts), expected)
      })
    )
  }

  it.effect("may do without a key where it is bare, and then has no members", () =>
    Effect.gen(function* () {
      const { idempotencyKey } = (yield* admitted(
        { idempotencyKey: undefined },
        BARE_WRITE
      )) as typeof request
      assert.strictEqual(idempotencyKey, "")
      assert.deepStrictEqual(yield* admitted({ body: { more: 1 } }, BARE_WRITE), ["/more unknown_member"])
      assert.strictEqual(yield* admitted({ idempotencyKey: "key 1" }, BARE_WRITE), "IdempotencyKeyInvalid")
    })
  )
})
