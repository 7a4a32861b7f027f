import { declare, type Overload } from './function-declaration.ts';
import { CelError } from './cel-error.ts';
import { compilePattern } from './patterns.ts';

function find(text: string, pattern: string, limit: number): string[] {
  let compiled;
  try {
    compiled = compilePattern(pattern);
  } catch (error) {
    throw new CelError(`Illegal regex: ${(error as Error).message}`, { cause: error });
  }
  const matcher = compiled.matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

/** Kubernetes' functions of regular expressions. */
export const regexLibrary: readonly Overload[] = [
  declare(
    'find',
    'string_find_string',
    'string.(string) string',
    (text, pattern) => find(text as string, pattern as string, 1)[0] ?? '',
  ),
  declare('findAll', 'string_find_all_string', 'string.(string) list(string)', (text, pattern) =>
    find(text as string, pattern as string, Infinity),
  ),
  declare('findAll', 'string_find_all_string_int', 'string.(string, int) list(string)', (text, pattern, limit) =>
    find(text as string, pattern as string, (limit as bigint) < 0n ? Infinity : Number(limit)),
  ),
];
