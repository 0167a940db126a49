import { Module } from "@nestjs/common"
import { Purchases } from "./purchases.ts"
import { makeService } from "./service.ts"
import { ShopController } from "./shop.controller.ts"
import { SvcModule } from "./svc.module.ts"

@Module({ imports: [SvcModule.of(makeService())], controllers: [ShopController], providers: [Purchases] })
export class ShopModule {}
