import { describe, expect, test } from '@jest/globals';
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { casesOf, corpusValue, evaluate, sameValue, type CorpusCase, type CorpusSuite } from './corpus-values.ts';
import { differences, notOfKubernetes, isOutOfScope } from './corpus-exceptions.ts';

/** Why a case fails; undefined: it passes. */
function failure(original: CorpusCase): string | undefined {
  const result = evaluate(original);
  if (original.evalError !== undefined) {
    return result instanceof Error ? undefined : 'ends without an error';
  }
  if (result instanceof Error) return result.message;
  if (original.checkOnly === true) return undefined;
  const wanted = original.value ?? original.typedResult?.result;
  const expected = wanted === undefined ? true : corpusValue(wanted);
  return sameValue(result, expected) ? undefined : 'another value';
}

const corpus = tests as unknown as CorpusSuite;
describe('the corpus of the CEL specification', () => {
  const enabled = (corpus.suites ?? []).filter(({ name }) => notOfKubernetes[name] === undefined);
  test.each(enabled.map((suite) => [suite.name, suite] as const))('%s', (_name, suite) => {
    const failed: string[] = [];
    for (const [name, original] of casesOf(suite, suite.name)) {
      if (isOutOfScope(original)) continue;
      const why = failure(original);
      if ((why === undefined) === (differences[name] !== undefined)) failed.push(`${name} (${original.expr}): ${why}`);
    }
    expect(failed).toEqual([]);
  });

  test('nearly all cases that Kubernetes could run pass', () => {
    let count = 0;
    for (const suite of corpus.suites ?? []) {
      if (notOfKubernetes[suite.name] !== undefined) continue;
      for (const [, original] of casesOf(suite, suite.name)) if (!isOutOfScope(original)) count++;
    }
    expect(count).toBeGreaterThan(1000);
    expect(Object.keys(differences).length).toBeLessThan(count / 100);
  });
});
