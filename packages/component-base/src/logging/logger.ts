/** What is logged beside the message. `error` is written with its stack and its chain of causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** From the most to the least talkative; `silent` writes nothing. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * How loud a failure is that is tried again for ever, by how many there were in a row: each doubling is worth a line; what
 * is away for an hour is not worth hundreds.
 */
export function failureLevel(failures: number): 'warn' | 'debug' {
  return (failures & (failures - 1)) === 0 ? 'warn' : 'debug';
}

/** For whoever is told of failures that are tried again for ever: one line of the log, as loud as {@link failureLevel} says. */
export const logFailures =
  (logger: Logger, message: string) =>
  (error: unknown, failures: number): void =>
    logger[failureLevel(failures)](message, { failures, error });

/**
 * A log to write to. Whoever handles an error logs it; whoever passes it on does not.
 *
 * - `error`: somebody must look at this. `warn`: it healed or will be tried again.
 * - `info`: what an operator wants to see of a healthy server, never once per request. `debug`: everything else.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to everything. */
  child(fields: LogFields): Logger;
}
