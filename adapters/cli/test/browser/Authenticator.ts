import type { Page } from "playwright-core"

export interface AuthenticatorOptions {
  /** Whether the person is recognised (fingerprint, face, PIN). Default true. */
  readonly isUserVerified?: boolean
  /** Whether the person touches it at once. Default true; otherwise the dialog stays open. */
  readonly isTouched?: boolean
}

/** A passkey as it lies in an authenticator. */
export interface StoredPasskey {
  readonly credentialId: string
  readonly isResidentCredential: boolean
  readonly rpId?: string
  readonly privateKey: string
  readonly userHandle?: string
  readonly signCount: number
}

/** A device's own authenticator in one tab, over the debugging protocol of the browser (WebAuthn Level 3, section 11). */
export interface Authenticator {
  readonly passkeys: () => Promise<ReadonlyArray<StoredPasskey>>
  readonly add: (passkey: StoredPasskey) => Promise<void>
  readonly setUserVerified: (isUserVerified: boolean) => Promise<void>
  readonly setTouched: (isTouched: boolean) => Promise<void>
  readonly remove: () => Promise<void>
}

/** Gives a tab an authenticator with a screen lock and room for passkeys. */
export const addAuthenticator = async (
  page: Page,
  { isUserVerified = true, isTouched = true }: AuthenticatorOptions = {}
): Promise<Authenticator> => {
  const session = await page.context().newCDPSession(page)
  await session.send("WebAuthn.enable")
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: isTouched
    }
  })
  return {
    passkeys: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    add: async (credential) => {
      await session.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential } })
    },
    setUserVerified: async (verified) => {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: verified })
    },
    setTouched: async (enabled) => {
      await session.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled })
    },
    remove: async () => {
      await session.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId })
    }
  }
}
