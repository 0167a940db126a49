/** Whether a host may use a relying party id: its own name, or a domain above it (WebAuthn Level 3, section 5.1.2). */
export const mayUseRelyingParty = (host: string, rpId: string): boolean =>
  host === rpId || (rpId.includes(".") && host.endsWith(`.${rpId}`))
