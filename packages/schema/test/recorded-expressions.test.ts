import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ExpressionAnswers, type Answer, type Fixture } from './expression-answers.ts';

const folder = join(import.meta.dirname, 'recorded-cel');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** What cel-go 0.26 with the libraries of Kubernetes 1.36 answers. */
type Recorded = Answer & { readonly expression: string };
const recorded = read('expressions.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);
const answers = new ExpressionAnswers(JSON.parse(read('fixture.json')) as Fixture);

/** Syntax errors have the words of the parser. */
const issuesOf = ({ issues }: Answer): string | undefined =>
  issues?.includes('Syntax error') === true ? 'Syntax error' : issues;

/** Estimates beyond 2^53 are not exact. */
function sameEstimate(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true;
  const [a, b] = [left, right].map((estimate) => (estimate ?? '').split(' ').map(Number));
  return a?.every((value, index) => Math.abs(value - (b?.[index] ?? Number.NaN)) <= value * 1e-12) ?? false;
}

function differences(wanted: Recorded): string[] {
  const answer = answers.of(wanted.expression);
  const different = (['problem', 'value', 'error', 'cost'] as const).filter((part) => answer[part] !== wanted[part]);
  return [
    ...different.map((part) => `${part}: ${answer[part]} instead of ${wanted[part]}`),
    ...(issuesOf(answer) === issuesOf(wanted) ? [] : [`issues: ${answer.issues} instead of ${wanted.issues}`]),
    ...(sameEstimate(answer.estimate, wanted.estimate)
      ? []
      : [`estimate: ${answer.estimate} instead of ${wanted.estimate}`]),
  ].map((difference) => `${wanted.expression}: ${difference}`);
}

test('expressions have the results, the errors and the costs that Kubernetes gives them', () => {
  expect(recorded.length).toBeGreaterThan(2500);
  expect(recorded.flatMap(differences)).toEqual([]);
});
