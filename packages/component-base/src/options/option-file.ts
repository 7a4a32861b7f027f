import { readFileSync } from 'node:fs';
import { OptionError } from './parse-value.ts';

/** The text of a file that a flag names. Throws {@link OptionError} with the flag when the file cannot be read. */
export function readOptionFile(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OptionError(`--${flag}: ${file} cannot be read`, { cause });
  }
}

/** Runs work that depends on the value of a flag; a failure becomes an {@link OptionError} with the flag. */
export function withOption<T>(flag: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof OptionError) throw cause;
    throw new OptionError(`--${flag}: ${(cause as Error).message}`, { cause });
  }
}
