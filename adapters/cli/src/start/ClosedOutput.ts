/** Exit code of a command whose output was closed: what a shell shows of a program that SIGPIPE has ended. */
export const EXIT_OUTPUT_CLOSED = 141

/**
 * Calls back when the standard output or error turns out to be closed, for as long as the process lives. Any other fault of
 * theirs, such as a full disk, remains one.
 */
export const whenOutputCloses = (act: () => void): void => {
  for (const output of [process.stdout, process.stderr]) {
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      act()
    })
  }
}
