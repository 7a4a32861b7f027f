import { childrenOf, type CallExpr, type Expr, type ListExpr, type MapExpr } from './ast.ts';
import { CelError } from './cel-error.ts';
import { formatLiteralIssue } from './format-literals.ts';
import type { Issue } from './issues.ts';
import { patternProblem } from '../regex.ts';
import { toDuration, toTimestamp } from './conversion-library.ts';
import { sameType, typeText, unwrapOptional, type CelType } from './types.ts';
import type { CelValue } from './values.ts';

const literalArguments: Readonly<Record<string, (literal: CelValue) => unknown>> = {
  duration: toDuration,
  timestamp: toTimestamp,
  matches: (pattern) => {
    const problem = patternProblem(pattern as string);
    if (problem !== undefined) throw new CelError(problem);
  },
};
/** Its list may hold anything. */
const mixing = 'format';

interface Literals {
  /** Not within an argument of `format`. */
  readonly lists: ListExpr[];
  readonly maps: MapExpr[];
  readonly calls: CallExpr[];
}

/**
 * What the types do not forbid, but Kubernetes does (cel-go `cel/validator.go`, `ext/formatting.go`), in the order of
 * its validators: literal lists and maps of mixed types, literal durations, timestamps and patterns that no evaluation
 * could use, and literal format strings that do not fit their arguments. Without `strict` only the second group.
 */
export function checkLiterals(expr: Expr, strict: boolean): Issue[] {
  const found: Literals = { lists: [], maps: [], calls: [] };
  collect(expr, false, found, new Set());
  const issues: Issue[] = [];
  if (strict) {
    for (const { items } of found.lists) {
      const issue = mixedItems(items).next();
      if (issue.done !== true) issues.push(issue.value);
    }
    for (const { entries } of found.maps) {
      issues.push(...mixedItems(entries.map(({ key }) => ({ value: key, optional: false }))), ...mixedItems(entries));
    }
  }
  for (const fn of Object.keys(literalArguments)) {
    for (const call of found.calls) if (call.fn === fn) issues.push(...argumentIssues(call));
  }
  if (strict) for (const call of found.calls) issues.push(...formatLiteralIssue(call));
  return issues;
}

/** Gathers the parts in the order of their ends. `exempt`: within an argument of `format`. */
function collect(expr: Expr, exempt: boolean, found: Literals, seen: Set<Expr>): void {
  if (seen.has(expr)) return;
  seen.add(expr);
  const below = exempt || (expr.kind === 'call' && expr.fn === mixing);
  for (const child of childrenOf(expr)) collect(child, below, found, seen);
  if (expr.kind === 'call') found.calls.push(expr);
  if (exempt) return;
  if (expr.kind === 'list') found.lists.push(expr);
  if (expr.kind === 'map') found.maps.push(expr);
}

function argumentIssues(call: CallExpr): Issue[] {
  const arg = call.args[0];
  if (arg?.kind !== 'const') return [];
  try {
    literalArguments[call.fn]?.(arg.value);
    return [];
  } catch {
    return [{ at: arg.at, message: `invalid ${call.fn} argument` }];
  }
}

/** Items of another type than the first one. */
function* mixedItems(items: readonly { readonly value: Expr; readonly optional: boolean }[]): Generator<Issue, void> {
  let first: CelType | undefined;
  for (const { value, optional } of items) {
    const type = optional ? unwrapOptional(value.type as CelType) : (value.type as CelType);
    first ??= type;
    if (!sameType(first, type)) {
      yield { at: value.at, message: `expected type '${typeText(first)}' but found '${typeText(type)}'` };
    }
  }
}
