import { parseDuration } from './duration.ts';
import { longestTimer, type DurationOption, type NumberOption, type OptionSpec } from './option-table.ts';

/** An invalid flag or argument; the message is shown to the user without a stack. */
export class OptionError extends Error {
  override readonly name = 'OptionError';
}

/** Converts the text of a flag. `before` is the value so far of a flag that accumulates. */
export function parseValue(flag: string, spec: OptionSpec, text: string, before: unknown): unknown {
  const invalid = (wanted: string, cause?: unknown): OptionError =>
    new OptionError(`invalid argument ${JSON.stringify(text)} for --${flag}: ${wanted}`, { cause });
  switch (spec.type) {
    case 'text':
      if (spec.choices !== undefined && !spec.choices.includes(text)) {
        throw invalid(`must be one of ${spec.choices.join(', ')}`);
      }
      return text;
    case 'number':
      return parseNumber(text, spec, invalid);
    case 'boolean':
      if (/^(true|1|t)$/i.test(text)) return true;
      if (/^(false|0|f)$/i.test(text)) return false;
      throw invalid('must be true or false');
    case 'duration':
      return parseDurationWithin(text, spec, invalid);
    case 'list':
      return [...((before as string[] | undefined) ?? []), ...splitList(text)];
    case 'map': {
      const entries = splitList(text).map((pair): [string, string] => {
        const at = pair.indexOf('=');
        if (at <= 0) throw invalid('must be key=value pairs with commas between them');
        return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
      });
      return { ...(before as Record<string, string> | undefined), ...Object.fromEntries(entries) };
    }
  }
}

type Invalid = (wanted: string, cause?: unknown) => OptionError;

function parseDurationWithin(text: string, spec: DurationOption, invalid: Invalid): number {
  const { min = '0s', max = longestTimer, allowsZero = false } = spec;
  let value: number;
  try {
    value = parseDuration(text);
  } catch (error) {
    throw invalid('must be a duration like 1h30m or 500ms', error);
  }
  if (value === 0 && allowsZero) return value;
  if (value < parseDuration(min) || value > parseDuration(max)) throw invalid(range(min, max, allowsZero));
  return value;
}

function parseNumber(text: string, spec: NumberOption, invalid: Invalid): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, allowsZero = false } = spec;
  if (!/^\d+$/.test(text)) throw invalid('must be a whole number');
  const value = Number(text);
  if (value === 0 && allowsZero) return value;
  if (value < min || value > max) throw invalid(range(min, max, allowsZero));
  return value;
}

const range = (min: string | number, max: string | number, allowsZero: boolean): string =>
  `must be ${allowsZero ? '0 or ' : ''}between ${min} and ${max}`;

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
