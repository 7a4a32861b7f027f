import { declare, type Overload } from './function-declaration.ts';
import { searchRegex } from '../regex.ts';
import type { WorkBudget } from '../work-budget.ts';
import { CelError } from './cel-error.ts';
import type { CelValue } from './values.ts';

/** A function of regular expressions: a search whose work is charged to the budget of the evaluation. */
export type RegexCall = (budget: WorkBudget, text: string, pattern: string, limit: CelValue | undefined) => CelValue;

/** Whether the text contains a match. Throws CelError for a pattern that does not compile. */
const matches: RegexCall = (budget, text, pattern) =>
  searchRegex(pattern, budget, (regex) => {
    if (regex.problem !== undefined) throw new CelError(regex.problem);
    return regex.test(text, budget);
  });

function find(budget: WorkBudget, text: string, pattern: string, limit: number): string[] {
  return searchRegex(pattern, budget, (regex) => {
    if (regex.problem !== undefined) throw new CelError(`Illegal regex: ${regex.problem}`);
    return regex.find(text, limit, budget);
  });
}

/** By the names of the functions; all of their arguments but the limit are strings. */
export const regexCalls: ReadonlyMap<string, RegexCall> = new Map<string, RegexCall>([
  ['matches', matches],
  ['find', (budget, text, pattern) => find(budget, text, pattern, 1)[0] ?? ''],
  [
    'findAll',
    (budget, text, pattern, limit = -1n) =>
      find(budget, text, pattern, (limit as bigint) < 0n ? Infinity : Number(limit)),
  ],
]);

/** The compiler calls these functions by {@link regexCalls}, with the budget of the evaluation. */
const withBudget = (): never => {
  throw new Error('a function of regular expressions was called without a budget');
};

/** Functions of regular expressions of cel-go. */
export const standardRegexFunctions: readonly Overload[] = [
  declare('matches', 'matches', '(string, string) bool', withBudget),
  declare('matches', 'matches_string', 'string.(string) bool', withBudget),
];

/** Kubernetes' functions of regular expressions. */
export const regexLibrary: readonly Overload[] = [
  declare('find', 'string_find_string', 'string.(string) string', withBudget),
  declare('findAll', 'string_find_all_string', 'string.(string) list(string)', withBudget),
  declare('findAll', 'string_find_all_string_int', 'string.(string, int) list(string)', withBudget),
];
