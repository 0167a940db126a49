import { createService, type ServiceOptions } from "svc"
import { awsKmsMasterKey, awsKmsSigner } from "svc/aws-kms"

export const makeServiceOnAws = async (
  options: ServiceOptions,
  signingKeyArn: string,
  encryptedMasterKey: string
) =>
  createService({
    ...options,
    signer: await awsKmsSigner({ key: signingKeyArn }),
    masterKey: await awsKmsMasterKey(encryptedMasterKey)
  })
