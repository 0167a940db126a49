import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from "@nestjs/common"
import type { Service } from "svc"

/** What injects the service. */
export const SERVICE = Symbol("svc")

/** Provides the service to the application, and closes it once the server is closed. */
@Module({})
export class SvcModule implements OnApplicationShutdown {
  static of(service: Service): DynamicModule {
    const providers = [{ provide: SERVICE, useValue: service }]
    return { module: SvcModule, global: true, providers, exports: [SERVICE] }
  }

  constructor(@Inject(SERVICE) private readonly service: Service) {}

  async onApplicationShutdown(): Promise<void> {
    await this.service.close()
  }
}
