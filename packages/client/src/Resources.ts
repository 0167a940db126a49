/**
 * The resources of the service as they are in JSON: members are named as over HTTP, and instants are RFC 3339 texts.
 *
 * @module
 */
export type * from "./Authorization.ts"
export type * from "./Event.ts"
export type * from "./Evidence.ts"
export type { Listing, Page } from "./Listing.ts"
export type * from "./Mandate.ts"
export type * from "./Passkey.ts"
export type * from "./Webhook.ts"
