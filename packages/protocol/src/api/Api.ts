import { HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { Problem } from "../Problem.ts"
import { completeDocument } from "./ApiDocument.ts"
import { AuthorizationsApi } from "./AuthorizationsApi.ts"
import { EventsApi } from "./EventsApi.ts"
import { EvidenceApi } from "./EvidenceApi.ts"
import { INTRODUCTION } from "./Introduction.ts"
import { KeySetApi } from "./KeySetApi.ts"
import { MandatesApi } from "./MandatesApi.ts"
import { OperationsApi } from "./OperationsApi.ts"
import { PasskeysApi } from "./PasskeysApi.ts"
import { WebhooksApi } from "./WebhooksApi.ts"

/** Every group of the API, in the order of a lifecycle. */
const GROUPS = [
  MandatesApi,
  AuthorizationsApi,
  EvidenceApi,
  EventsApi,
  PasskeysApi,
  WebhooksApi,
  KeySetApi,
  OperationsApi
] as const

/**
 * The HTTP API: every route with its requests, responses and problems. The server, the typed client and
 * the OpenAPI document are made from it.
 */
export class Api extends HttpApi.make("svc")
  .add(...GROUPS)
  .annotate(HttpApi.AdditionalSchemas, [Problem.annotate({ identifier: "Problem" })])
  .annotateMerge(
    OpenApi.annotations({
      title: "Mandate-bound authorization service",
      version: "1",
      summary:
        "Checks a proposed action against a mandate that an end user approved, answers with a decision, and keeps signed evidence of the whole lifecycle.",
      description: INTRODUCTION,
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" },
      transform: completeDocument(GROUPS as unknown as ReadonlyArray<HttpApiGroup.Top>)
    })
  ) {}
