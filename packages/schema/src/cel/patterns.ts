import { RE2JS } from 're2js';
import { errorText } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';

const most = 1000;
const known = new Map<string, RE2JS>();

/** A pattern of an expression or of data, in linear time (RE2). The least recently used one goes. */
export function compilePattern(source: string): RE2JS {
  let pattern = known.get(source);
  if (pattern !== undefined) {
    if (known.size === most) {
      known.delete(source);
      known.set(source, pattern);
    }
    return pattern;
  }
  try {
    pattern = RE2JS.compile(source);
  } catch (error) {
    throw new CelError(errorText(error), { cause: error });
  }
  if (known.size >= most) known.delete(known.keys().next().value as string);
  known.set(source, pattern);
  return pattern;
}

/** Whether the text contains a match. */
export const matches = (text: string, pattern: string): boolean => compilePattern(pattern).matcher(text).find();
