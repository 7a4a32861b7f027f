import { childrenOf, type Expr } from './ast.ts';
import { CelError } from './cel-error.ts';
import type { Issue } from './issues.ts';
import { patternProblem } from '../regex.ts';
import { parseDuration, parseTimestamp } from './time-text.ts';
import { sameType, typeText, unwrapOptional, type CelType } from './types.ts';

const literalArguments: Readonly<Record<string, (text: string) => unknown>> = {
  duration: parseDuration,
  timestamp: parseTimestamp,
  matches: (pattern) => {
    const problem = patternProblem(pattern);
    if (problem !== undefined) throw new CelError(problem);
  },
};
/** Its list may hold anything. */
const mixing = 'format';

/**
 * What the types do not forbid, but Kubernetes does (cel-go `cel/validator.go`): literal durations, timestamps and
 * patterns that no evaluation could use, and, if `homogeneous`, literal lists and maps of mixed types.
 */
export function checkLiterals(expr: Expr, homogeneous: boolean): Issue[] {
  const issues: Issue[] = [];
  checkPart(expr, homogeneous, issues, new Set());
  return issues;
}

function checkPart(expr: Expr, homogeneous: boolean, issues: Issue[], seen: Set<Expr>): void {
  if (seen.has(expr)) return;
  seen.add(expr);
  if (expr.kind === 'call' && Object.hasOwn(literalArguments, expr.fn)) {
    const arg = expr.args[0];
    if (arg?.kind === 'const' && typeof arg.value === 'string') {
      try {
        literalArguments[expr.fn]?.(arg.value);
      } catch {
        issues.push({ at: arg.at, message: `invalid ${expr.fn} argument` });
      }
    }
  }
  if (homogeneous && expr.kind === 'list') checkItems(expr.items, issues);
  if (homogeneous && expr.kind === 'map') {
    checkItems(
      expr.entries.map(({ key }) => ({ value: key, optional: false })),
      issues,
    );
    checkItems(expr.entries, issues);
  }
  const below = homogeneous && !(expr.kind === 'call' && expr.fn === mixing);
  for (const child of childrenOf(expr)) checkPart(child, below, issues, seen);
}

function checkItems(items: readonly { readonly value: Expr; readonly optional: boolean }[], issues: Issue[]): void {
  let first: CelType | undefined;
  for (const { value, optional } of items) {
    const type = optional ? unwrapOptional(value.type as CelType) : (value.type as CelType);
    first ??= type;
    if (!sameType(first, type)) {
      issues.push({ at: value.at, message: `expected type '${typeText(first)}' but found '${typeText(type)}'` });
      return;
    }
  }
}
