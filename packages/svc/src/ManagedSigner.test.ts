import { assert, describe, it } from "@effect/vitest"
import { fakeAwsKms } from "@svc/kms/test/FakeAwsKms"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { makeShop, newMandate } from "../test/Shop.ts"
import { awsKmsMasterKey, awsKmsSigner } from "./aws-kms.ts"
import { azureKeyVaultMasterKey, azureKeyVaultSigner } from "./azure-key-vault.ts"
import { createService } from "./index.ts"

const scope = Effect.runSync(Scope.make())
let aws: Effect.Success<typeof fakeAwsKms>

beforeAll(async () => {
  aws = await Effect.runPromise(Effect.provideService(fakeAwsKms, Scope.Scope, scope))
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const client = () => ({
  endpoint: aws.endpoint,
  credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" }
})

const messageOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "done",
    (error: unknown) => String(error)
  )

describe("a key in AWS KMS", () => {
  it("signs the evidence of a service", async () => {
    const key = aws.addKey()
    const shop = makeShop({ signer: await awsKmsSigner({ key: key.arn, ...client() }) })
    const service = createService(shop.serviceOptions)
    const face = service.forOrganization(shop.id)
    const { id } = await face.mandates.create(newMandate("user"))
    await service.verifyEvidence(await face.mandates.evidence(id))
    key.state = "Disabled"
    assert.match(await messageOf(face.mandates.evidence(id)), /^SvcError: What is recorded could not/u)
    assert.strictEqual((await face.mandates.get(id)).id, id)
    await service.close()
  })

  it("of another kind is no signer, and the error says so", async () => {
    const { arn } = aws.addKey({ spec: "ECC_NIST_P384" })
    assert.match(await messageOf(awsKmsSigner({ key: arn, ...client() })), /^Error: arn:.*ECC_NIST_P384/u)
  })

  it("decrypts a master key, and only that", async () => {
    assert.match(await messageOf(awsKmsMasterKey("A".repeat(43), client())), /^Error: .*another form/u)
    assert.match(await messageOf(awsKmsMasterKey("aws-kms:arn.AAAA", client())), /^Error: /u)
  })
})

describe("a key in Azure Key Vault", () => {
  const credential = { getToken: async () => null }

  it("is named by its identifier", async () => {
    assert.match(await messageOf(azureKeyVaultSigner({ key: "k", credential })), /no key identifier/u)
    assert.match(await messageOf(azureKeyVaultMasterKey("aws-kms:x.AAAA", credential)), /azure-key-vault:/u)
  })
})
