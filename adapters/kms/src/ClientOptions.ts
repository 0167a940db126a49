/* How the services are reached, in types that need none of their clients installed. */

/** Credentials for AWS. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** How AWS KMS is reached. What is left out the AWS SDK finds by itself, as in `AWS_PROFILE` or the role of the instance. */
export interface AwsKmsClientOptions {
  /** For keys that are not named by their ARN, which has one. */
  readonly region?: string
  readonly endpoint?: string
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>)
}

/** Gives tokens for Azure, as a `DefaultAzureCredential` of `@azure/identity` does. */
export interface AzureTokenCredential {
  readonly getToken: (
    scopes: string | Array<string>
  ) => Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>
}
