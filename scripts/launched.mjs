/*
 * Loaded before a program that scripts/run.mjs runs. The channel between the two closes when the launcher ends, even by
 * SIGKILL, which it cannot hand over: the program then stops as it does at SIGTERM. A program that is started in any other
 * way has no such launcher.
 */
if (process.connected && String(process.ppid) === process.env.SVC_LAUNCHER_PID) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
  // It keeps no program running that has come to its end.
  process.channel.unref()
}
delete process.env.SVC_LAUNCHER_PID
