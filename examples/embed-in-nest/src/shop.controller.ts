import { randomUUID } from "node:crypto"
import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  ForbiddenException,
  Get,
  HttpException,
  Inject,
  Post,
  UnauthorizedException,
  UseFilters
} from "@nestjs/common"
import { BaseExceptionFilter } from "@nestjs/core"
import { SvcError } from "svc"
import { type Purchase, Purchases } from "./purchases.ts"
import { sessions } from "./service.ts"

/** Answers a refused call with its status and its message. */
@Catch(SvcError)
export class RefusedCalls extends BaseExceptionFilter implements ExceptionFilter {
  override catch(error: SvcError, host: ArgumentsHost): void {
    super.catch(new HttpException({ code: error.code, error: error.message }, error.status ?? 500), host)
  }
}

@Controller()
@UseFilters(RefusedCalls)
export class ShopController {
  constructor(@Inject(Purchases) private readonly purchases: Purchases) {}

  @Get()
  page(): string {
    return "The shop.\n"
  }

  /** Stands for the shop's login. */
  @Post("login")
  login(@Body() { customer }: { customer: string }) {
    const session = randomUUID()
    sessions.set(session, customer)
    return { session }
  }

  @Post("allowances")
  async allow(@Body() { max_amount, session }: { max_amount: number; session: string }) {
    const customer = sessions.get(session)
    if (customer === undefined) throw new UnauthorizedException("nobody is logged in")
    return this.purchases.allow(customer, session, max_amount)
  }

  @Post("purchases")
  async purchase(@Body() purchase: Purchase) {
    const { decision, reasons, state } = await this.purchases.purchase(purchase)
    if (decision !== "ALLOW") throw new ForbiddenException({ decision, state, reasons })
    return { decision, state, reasons }
  }
}
