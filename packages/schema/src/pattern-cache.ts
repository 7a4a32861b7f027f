import { RE2JS } from 're2js';

/** Something that tells whether a text contains a match. */
export interface Pattern {
  test(text: string): boolean;
}

const maxPatterns = 2_000;
const compiled = new Map<string, Pattern>();
const never: Pattern = { test: () => false };

/**
 * Patterns of users, compiled when first needed and shared by all schemas: the same few patterns occur in thousands
 * of definitions. RE2 syntax in linear time, so that no tenant can stop the process. The oldest unused pattern goes
 * when the cache is full. Patterns were checked when their schema was accepted; one that does not compile after all
 * (a legacy definition) matches nothing.
 */
export function patternOf(source: string): Pattern {
  const known = compiled.get(source);
  if (known !== undefined) {
    // Moves the entry to the young end; cheap enough because patterns with a single user skip it.
    if (compiled.size === maxPatterns) {
      compiled.delete(source);
      compiled.set(source, known);
    }
    return known;
  }
  let pattern: Pattern;
  try {
    pattern = RE2JS.compile(source);
  } catch {
    pattern = never;
  }
  if (compiled.size >= maxPatterns) compiled.delete(compiled.keys().next().value as string);
  compiled.set(source, pattern);
  return pattern;
}

/** Go's complaint about a pattern; undefined when it compiles. */
export function patternProblem(source: string): string | undefined {
  try {
    RE2JS.compile(source);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
