import { Context } from "effect"
import type { Environment } from "../mandate/JournalFact.ts"

/** What the operator fixes for all organizations of one deployment (part 9). */
export class Deployment extends Context.Service<
  Deployment,
  {
    readonly environment: Environment
    /** Base address of the API, without a trailing slash. */
    readonly baseUrl: string
    /** Base address of the approval origin, without a trailing slash. */
    readonly approvalBaseUrl: string
    /** The exact origin of the approval pages. */
    readonly approvalOrigin: string
    readonly rpId: string
    /** Whether `http://localhost` origins may be registered as return origins (test environment only). */
    readonly localhostReturnOrigins: boolean
  }
>()("@svc/domain/ports/Deployment") {}
