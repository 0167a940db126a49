import { HttpApi, OpenApi } from "effect/http-api"
import { completeDocument } from "./ApiDocument.ts"
import { AuthorizationsApi } from "./AuthorizationsApi.ts"
import { EventsApi } from "./EventsApi.ts"
import { EvidenceApi } from "./EvidenceApi.ts"
import { KeySetApi } from "./KeySetApi.ts"
import { MandatesApi } from "./MandatesApi.ts"
import { OperationsApi } from "./OperationsApi.ts"
import { PasskeysApi } from "./PasskeysApi.ts"
import { WebhooksApi } from "./WebhooksApi.ts"

/**
 * The HTTP API: every route, what it takes, what it answers, and every problem. The server, the typed client and
 * the OpenAPI document are made from it.
 */
export class Api extends HttpApi.make("svc")
  .add(
    MandatesApi,
    AuthorizationsApi,
    EventsApi,
    EvidenceApi,
    KeySetApi,
    PasskeysApi,
    WebhooksApi,
    OperationsApi
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Mandate-bound authorization service",
      version: "1",
      description:
        "Checks a proposed action against a mandate that an end user approved, answers with a decision, and keeps signed evidence of the whole lifecycle.",
      transform: completeDocument
    })
  ) {}
