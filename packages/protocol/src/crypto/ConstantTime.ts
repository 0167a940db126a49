/**
 * Whether two byte strings are equal, in a time that depends on their lengths alone. Lengths are public
 * in this protocol.
 */
export const equalInConstantTime = (left: Uint8Array, right: Uint8Array): boolean => {
  if (left.length !== right.length) return false
  let difference = 0
  for (let index = 0; index < left.length; index++) difference |= left[index]! ^ right[index]!
  return difference === 0
}
