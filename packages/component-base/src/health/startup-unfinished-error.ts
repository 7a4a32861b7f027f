/** A health check fails because the process is still starting: expected, so probes of that time are no reason for a warning. */
export class StartupUnfinishedError extends Error {
  override readonly name = 'StartupUnfinishedError';
}
