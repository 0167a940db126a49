/** The value below which so large a part (0 to 1) of the values lies, by the nearest rank; NaN of none. */
export const quantile = (values: ReadonlyArray<number>, part: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
}

/** The middle one, or the mean of the two in the middle; NaN of none. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = Float64Array.from(values).sort()
  const upper = sorted[sorted.length >> 1] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[(sorted.length >> 1) - 1] ?? Number.NaN)) / 2
}

/** Quotients of the values of the same round: what disturbed one round disturbed both. */
export const ratios = (
  numerators: ReadonlyArray<number>,
  denominators: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const rounds = Math.min(numerators.length, denominators.length)
  return Array.from({ length: rounds }, (_, round) => numerators[round]! / denominators[round]!)
}

/** Least, median and greatest, as text with so many digits after the point; `-` of none. */
export const spread = (values: ReadonlyArray<number>, digits: number): string => {
  if (values.length === 0) return "-"
  const [middle, least, greatest] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits)
  )
  return least === greatest ? `${middle}` : `${middle} (${least}-${greatest})`
}
