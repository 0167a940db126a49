/** Where an operator reads how to go on without the key. */
export const LOST_MASTER_KEY_PAGE = '"A lost master key" in docs/operate/keys.md'

/** What to do where neither master key opens what another one sealed. */
export const MASTER_KEY_REMEDY = `set the one that sealed it as SVC_MASTER_KEY, or as SVC_MASTER_KEY_PREVIOUS while keys are being changed; if it is lost for good, go by ${LOST_MASTER_KEY_PAGE}`

/** Why a process that is to sign does not start with these keys, or a command does not make the next signing key. */
export const SIGNING_KEY_CLOSED = "the master key does not open the signing key that the store keeps"
