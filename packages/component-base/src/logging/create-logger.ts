import { type Clock, systemClock } from '../clock/clock.ts';
import { jsonLogger } from './json-logger.ts';
import type { LogLevel, Logger } from './logger.ts';
import { textLogger } from './text-logger.ts';

export interface LoggerOptions {
  /** `info` by default. */
  readonly level?: LogLevel | undefined;
  readonly format?: 'json' | 'text' | undefined;
}

export interface LoggerModules {
  /** Writes one line. Standard error in servers; standard output is for the output of commands. */
  readonly write: (line: string) => void;
  readonly clock?: Clock | undefined;
}

/** Creates a logger; there is no global one. */
export function createLogger({ level = 'info', format = 'json' }: LoggerOptions, modules: LoggerModules): Logger {
  const { write, clock = systemClock } = modules;
  return format === 'json' ? jsonLogger(level, { write }) : textLogger(level, { write, clock });
}

/** Writes nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
