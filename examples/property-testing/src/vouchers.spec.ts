import { test } from "node:test"
import { specification } from "svc/testkit"
import { voucher } from "./Vouchers.ts"

test("a voucher is spent once", () => {
  const { given, when } = specification(voucher)
  when({ type: "spend", order: "1" }).then({ type: "spent", order: "1" })
  given({ type: "spent", order: "1" }).when({ type: "spend", order: "2" }).thenRefused("the voucher is spent")
  given({ type: "spent", order: "1" }).when({ type: "withdraw" }).then()
})
