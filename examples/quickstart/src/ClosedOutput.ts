/** What a shell shows of a program that SIGPIPE has ended. */
const EXIT_OUTPUT_CLOSED = 141

/** Ends this process without a word once nobody reads what it prints any more, as behind `head`. */
export const endWithOutput = (): void => {
  for (const output of [process.stdout, process.stderr]) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      process.exit(EXIT_OUTPUT_CLOSED)
    })
  }
}
