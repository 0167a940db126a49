/**
 * The least that a program under test has of the environment: where programs are, and where Node keeps what it compiled,
 * without which every start strips every source of its types again.
 */
export const leastEnvironment = (): Readonly<Record<string, string>> => {
  const { NODE_COMPILE_CACHE, PATH = "" } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) }
}
