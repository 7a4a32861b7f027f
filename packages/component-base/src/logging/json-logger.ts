import type { DestinationStream, Logger as PinoLogger, pino as Pino } from 'pino';
import { lazyLibrary } from '../loading/lazy-library.ts';
import { type LogFields, type LogLevel, type Logger } from './logger.ts';
import { redactFields, redactText } from './redact.ts';

/** Loaded by the first logger: commands that only read a kubeconfig start without it. */
const loadPino = lazyLibrary<{ readonly pino: typeof Pino }>(import.meta.url, 'pino');

/** One JSON object per line, for machines. */
export function jsonLogger(level: LogLevel, destination: DestinationStream): Logger {
  const { pino } = loadPino();
  return wrap(
    pino(
      {
        level,
        base: null,
        messageKey: 'message',
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      destination,
    ),
  );
}

function wrap(logger: PinoLogger, inherited: LogFields = {}): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      // Redacting costs more than the level check, so it comes second.
      if (!logger.isLevelEnabled(level)) return;
      logger[level](fields === undefined ? inherited : { ...inherited, ...redactFields(fields) }, redactText(message));
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => wrap(logger, { ...inherited, ...redactFields(fields) }),
  };
}
