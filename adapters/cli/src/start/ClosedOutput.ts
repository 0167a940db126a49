/** Exit code after the output was closed: what a shell reports of a program that SIGPIPE ended. */
export const EXIT_OUTPUT_CLOSED = 141

/** Calls `act` whenever a write finds the standard output or error closed. Other write errors, such as a full disk, are thrown. */
export const onOutputClosed = (act: () => void): void => {
  for (const output of [process.stdout, process.stderr]) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      act()
    })
  }
}
