import { RE2JS } from 're2js';
import { errorText } from '@multiplane/apimachinery';
import { compileAtOnce, NotCompiled, type MayCompile } from './compilation.ts';
import type { WorkBudget } from './work-budget.ts';
import { WorkBudgetExceeded, maxInlineSteps } from './work-budget.ts';

/** Milliseconds that one search for all matches may take: it is quadratic at worst, in Go as here. */
const maxFindAllMs = 2_000;

/**
 * A regular expression of a tenant: RE2 syntax and linear-time matching, as in Go (re2js). No text and no pattern
 * makes it backtrack, but the worst case is still the length of the text times the size of the program, so every
 * search is charged to a {@link WorkBudget}.
 */
export class Regex {
  readonly source: string;
  /** Go's error about the pattern; undefined when it compiles. */
  readonly problem: string | undefined;
  /** Instructions of the program. */
  readonly size: number;
  readonly #compiled: RE2JS | undefined;

  constructor(source: string) {
    this.source = source;
    try {
      this.#compiled = RE2JS.compile(source);
      this.size = this.#compiled.programSize();
    } catch (error) {
      this.problem = errorText(error);
      this.size = 1;
    }
  }

  /** Bytes that the engine keeps of the states it has seen. */
  get stateBytes(): number {
    // Not `dfa`, whose getter creates the automaton.
    const automaton = this.#compiled?.re2().lazyDFA ?? undefined;
    return automaton === undefined ? 0 : automaton.maxMem - automaton.memBudget;
  }

  /** Whether the text contains a match; false if the pattern does not compile. */
  test(text: string, budget: WorkBudget): boolean {
    if (this.#compiled === undefined) return false;
    budget.charge((text.length + 1) * this.size);
    return this.#compiled.test(text);
  }

  /** The first matches, at most `limit`. */
  find(text: string, limit: number, budget: WorkBudget): string[] {
    const found: string[] = [];
    if (this.#compiled === undefined) return found;
    const matcher = this.#compiled.matcher(text);
    const endsAt = performance.now() + maxFindAllMs;
    let from = 0;
    while (found.length < limit) {
      // On the event loop each search is charged as if it read the rest of the text; elsewhere the clock limits them.
      budget.charge((budget.isInline || from === 0 ? text.length - from + 1 : 1) * this.size);
      if (!matcher.find()) break;
      // As in Go, nothing is found right behind a match.
      if (found.length === 0 || matcher.end() > from || matcher.start() > from) found.push(matcher.group() ?? '');
      from = matcher.end();
      if (performance.now() > endsAt) throw new WorkBudgetExceeded();
    }
    return found;
  }
}

/** What the compiler of patterns takes per character, class of Unicode, and instruction, in steps of about 100 ns. */
const stepsPerCharacter = 20;
const stepsPerUnicodeClass = 3_000;
const stepsPerUnicodeInstruction = 200;
/** RE2 allows no more repetitions, those of nested groups multiplied. */
const maxRepetitions = 1_000;

/**
 * Steps that compiling a pattern takes at most, without compiling it: characters, times the repetitions that may apply
 * to them. An estimate for pathological patterns only; those in use come to some thousand.
 */
export function compilationSteps(source: string): number {
  let steps = 0;
  let isFolded = false;
  /** Steps per instruction of what a repetition may repeat: of each open group, and of its last atom. */
  const groups: { total: number; last: number }[] = [{ total: 0, last: 0 }];
  let top = groups[0] as { total: number; last: number };
  const add = (cost: number): void => {
    top.total += cost;
    top.last = cost;
  };
  for (let at = 0; at < source.length; at++) {
    const character = source[at] as string;
    if (character === '\\') {
      at++;
      const isClass = source[at] === 'p' || source[at] === 'P';
      if (isClass) steps += stepsPerUnicodeClass;
      add(isClass ? stepsPerUnicodeInstruction : stepsPerCharacter);
    } else if (character === '(') {
      if (source[at + 1] === '?' && source.slice(at, at + 6).includes('i')) isFolded = true;
      top = { total: 0, last: 0 };
      groups.push(top);
    } else if (character === ')' && groups.length > 1) {
      const { total } = groups.pop() as { total: number };
      top = groups.at(-1) as { total: number; last: number };
      add(total + stepsPerCharacter);
    } else if (character === '{') {
      const match = /^\{(\d+)(?:,(\d*))?\}/.exec(source.slice(at, at + 20));
      if (match === null) add(stepsPerCharacter);
      else {
        const times = Math.min(Math.max(Number(match[1]), Number(match[2] ?? 0)), maxRepetitions);
        top.total += top.last * Math.max(times - 1, 0);
        top.last *= Math.max(times, 1);
      }
    } else add(stepsPerCharacter);
  }
  for (const { total } of groups) steps += total;
  return isFolded ? steps * 4 : steps;
}

const maxPatterns = 2_000;
/** Of all patterns together. */
const maxInstructions = 2_000_000;
const maxStateBytes = 64 * 1024 * 1024;

/**
 * Compiled patterns, shared by all schemas and expressions: the same few occur in thousands of definitions. The least
 * recently used are evicted when their number, their instructions or the states of their automata exceed a limit.
 */
class RegexCache {
  readonly #known = new Map<string, Regex>();
  #instructions = 0;
  #stateBytes = 0;

  /** The pattern if it is cached. */
  find(source: string): Regex | undefined {
    const regex = this.#known.get(source);
    // The order only matters when something must be evicted.
    if (regex !== undefined && (this.#known.size * 2 > maxPatterns || this.#instructions * 2 > maxInstructions)) {
      this.#known.delete(source);
      this.#known.set(source, regex);
    }
    return regex;
  }

  get(source: string): Regex {
    return this.find(source) ?? this.#add(source);
  }

  #add(source: string): Regex {
    const regex = new Regex(source);
    this.#known.set(source, regex);
    this.#instructions += regex.size;
    this.#evict();
    return regex;
  }

  /** Called after a search with the states it has added. */
  grown(bytes: number): void {
    this.#stateBytes += bytes;
    if (this.#stateBytes > maxStateBytes) this.#evict();
  }

  #evict(): void {
    while (
      this.#known.size > maxPatterns ||
      (this.#known.size > 1 && this.#instructions > maxInstructions) ||
      (this.#known.size > 0 && this.#stateBytes > maxStateBytes)
    ) {
      const [source, regex] = this.#known.entries().next().value as [string, Regex];
      this.#known.delete(source);
      this.#instructions -= regex.size;
      this.#stateBytes -= regex.stateBytes;
    }
    if (this.#known.size === 0) this.#stateBytes = 0;
  }
}

const cache = new RegexCache();

/** A compiled pattern. Throws NotCompiled if it is not cached and may not be compiled. */
export function regexOf(source: string, mayCompile: MayCompile = compileAtOnce): Regex {
  const known = cache.find(source);
  if (known === undefined && !mayCompile()) throw new NotCompiled();
  return known ?? cache.get(source);
}

/** {@link regexOf} that charges the compilation, too. */
function compileWithin(source: string, budget: WorkBudget, mayCompile?: MayCompile): Regex {
  budget.charge(compilationSteps(source));
  return regexOf(source, mayCompile);
}

/** Go's error about a pattern; undefined when it compiles. */
export const patternProblem = (source: string): string | undefined => cache.get(source).problem;

/** Whether compiling a pattern takes too long for the event loop. */
export const isLongPattern = (source: string): boolean => compilationSteps(source) > maxInlineSteps;

/**
 * Whether the text contains a match. Patterns were checked when their schema was accepted; one that does not compile
 * after all (a legacy definition) matches nothing. Throws NotCompiled, and what {@link WorkBudget.charge} throws.
 */
export function matchesPattern(text: string, source: string, budget: WorkBudget, mayCompile?: MayCompile): boolean {
  const regex = cache.find(source) ?? compileWithin(source, budget, mayCompile);
  const before = regex.stateBytes;
  const matches = regex.test(text, budget);
  const grown = regex.stateBytes - before;
  if (grown !== 0) cache.grown(grown);
  return matches;
}

/** The pattern of a CEL function and the search in it. */
export function searchRegex<T>(source: string, budget: WorkBudget, search: (regex: Regex) => T): T {
  const regex = cache.find(source) ?? compileWithin(source, budget);
  const before = regex.stateBytes;
  try {
    return search(regex);
  } finally {
    const grown = regex.stateBytes - before;
    if (grown !== 0) cache.grown(grown);
  }
}
