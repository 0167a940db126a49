/** The exit code that a shell reports of a program that SIGPIPE ended. */
const EXIT_OUTPUT_CLOSED = 141

/** Exits in silence once the output is closed, as by `head`. */
export const endWithOutput = (): void => {
  for (const output of [process.stdout, process.stderr]) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      process.exit(EXIT_OUTPUT_CLOSED)
    })
  }
}
