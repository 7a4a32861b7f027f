/** Structured fields of a log line. `error` is written with its stack and its chain of causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** From the most to the least verbose. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * The log level for a failure that is retried indefinitely, by the number of consecutive failures: a warning at each power
 * of two, so that an outage of an hour does not write hundreds of lines.
 */
export function failureLevel(failures: number): 'warn' | 'debug' {
  return (failures & (failures - 1)) === 0 ? 'warn' : 'debug';
}

/** An `onFailure` callback for operations that are retried indefinitely: logs at {@link failureLevel}. */
export const logFailures =
  (logger: Logger, message: string) =>
  (error: unknown, failures: number): void =>
    logger[failureLevel(failures)](message, { failures, error });

/**
 * Structured logging. The code that handles an error logs it; code that passes it on does not.
 *
 * - `error`: needs an operator. `warn`: recovered, or will be retried.
 * - `info`: events of a healthy server, never per request. `debug`: everything else.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to everything. */
  child(fields: LogFields): Logger;
}
