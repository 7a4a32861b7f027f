import type { Clock } from '../clock/clock.ts';
import { type LogFields, type LogLevel, type Logger, logLevels } from './logger.ts';
import { redactFields, redactText } from './redact.ts';

export interface TextLoggerModules {
  readonly clock: Clock;
  readonly write: (line: string) => void;
}

/** One human-readable line per message, errors with their stack below. */
export function textLogger(level: LogLevel, modules: TextLoggerModules, inherited: LogFields = {}): Logger {
  const threshold = logLevels.indexOf(level);
  const write =
    (own: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (logLevels.indexOf(own) < threshold) return;
      const { error, ...rest } = redactFields({ ...inherited, ...fields });
      const time = new Date(modules.clock.now()).toISOString();
      const pairs = Object.entries(rest).map(([name, value]) => ` ${name}=${inline(value)}`);
      modules.write(
        `${time} ${own.toUpperCase().padEnd(5)} ${redactText(message)}${pairs.join('')}${errorLines(error)}\n`,
      );
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => textLogger(level, modules, { ...inherited, ...fields }),
  };
}

/** A value on one line; quoted when it contains anything but word characters and common punctuation. */
function inline(value: unknown): string {
  return typeof value === 'string' && /^[\w\-.:/@,*~]+$/.test(value) ? value : JSON.stringify(value);
}

function errorLines(error: unknown): string {
  if (error === undefined) return '';
  if (typeof error !== 'object' || error === null) return ` error=${inline(error)}`;
  const { stack, message, cause } = error as { stack?: unknown; message?: unknown; cause?: unknown };
  const text = typeof stack === 'string' ? stack : inline(message ?? error);
  const own = `\n    ${text.replaceAll('\n', '\n    ')}`;
  return cause === undefined ? own : `${own}\n    caused by:${errorLines(cause)}`;
}
