import { type Clock, systemClock } from '../clock/clock.ts';
import { jsonLogger } from './json-logger.ts';
import type { LogLevel, Logger } from './logger.ts';
import { textLogger } from './text-logger.ts';

export interface LoggerOptions {
  /** `info` unless told otherwise. */
  readonly level?: LogLevel | undefined;
  readonly format?: 'json' | 'text' | undefined;
}

export interface LoggerModules {
  /** Takes whole lines. Standard error in a server: standard output belongs to what a command prints. */
  readonly write: (line: string) => void;
  readonly clock?: Clock | undefined;
}

/** A logger of its own; there is no global one. */
export function createLogger({ level = 'info', format = 'json' }: LoggerOptions, modules: LoggerModules): Logger {
  const { write, clock = systemClock } = modules;
  return format === 'json' ? jsonLogger(level, { write }) : textLogger(level, { write, clock });
}

/** Writes nothing; for tests and for optional modules. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
