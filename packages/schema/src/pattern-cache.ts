import { RE2JS } from 're2js';
import { errorText } from '@multiplane/apimachinery';
import { compileAtOnce, NotCompiled, type MayCompile } from './compilation.ts';

/** Something that tells whether a text contains a match. */
export interface Pattern {
  test(text: string): boolean;
}

interface Compiled extends Pattern {
  /** Go's complaint; undefined when the pattern compiles. */
  readonly problem: string | undefined;
}

const maxPatterns = 2_000;
const known = new Map<string, Compiled>();

/**
 * Patterns of users, compiled when first needed and shared by all schemas: the same few patterns occur in thousands
 * of definitions. RE2 syntax in linear time, so that no tenant can stop the process. The least recently used pattern
 * goes when the cache is full. Patterns were checked when their schema was accepted; one that does not compile after
 * all (a legacy definition) matches nothing.
 */
export function patternOf(source: string, mayCompile: MayCompile = compileAtOnce): Pattern {
  if (!known.has(source) && !mayCompile()) throw new NotCompiled();
  return compiled(source);
}

/** Go's complaint about a pattern; undefined when it compiles. */
export function patternProblem(source: string): string | undefined {
  return compiled(source).problem;
}

function compiled(source: string): Compiled {
  let pattern = known.get(source);
  if (pattern !== undefined) {
    // The order matters only when something must go.
    if (known.size === maxPatterns) {
      known.delete(source);
      known.set(source, pattern);
    }
    return pattern;
  }
  pattern = compile(source);
  if (known.size >= maxPatterns) known.delete(known.keys().next().value as string);
  known.set(source, pattern);
  return pattern;
}

function compile(source: string): Compiled {
  try {
    const pattern = RE2JS.compile(source);
    return { problem: undefined, test: (text) => pattern.test(text) };
  } catch (error) {
    return { problem: errorText(error), test: () => false };
  }
}
