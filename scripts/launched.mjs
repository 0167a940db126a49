/*
 * Loaded before a program that scripts/run.mjs starts. The channel to the launcher closes when the launcher ends, even by
 * SIGKILL, which it cannot forward; the program then shuts down as on SIGTERM. Programs started in other ways have no
 * launcher.
 */
if (process.connected && String(process.ppid) === process.env.SVC_LAUNCHER_PID) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
  // The channel must not keep a finished program running.
  process.channel.unref()
}
delete process.env.SVC_LAUNCHER_PID
