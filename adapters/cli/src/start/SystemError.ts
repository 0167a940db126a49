import { getSystemErrorMap } from "node:util"

/** An error of the operating system by its code, with its meaning where that is known. */
export const describeSystemError = (code: string): string => {
  const message = [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1]
  return message === undefined ? code : `${code} (${message})`
}
