import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fieldErrorText, type JsonObject } from '@multiplane/apimachinery';
import { compileRules, OutOfPatience } from './cel/index.ts';
import { compileSchema } from './compile-schema.ts';
import { compilationSteps, matchesPattern, regexOf } from './regex.ts';
import { maxInlineSteps, maxSteps, WorkBudget, WorkBudgetExceeded } from './work-budget.ts';

const inline = (isOverdue = false): WorkBudget => new WorkBudget({ isOverdue: () => isOverdue });
const explosive = '(a|b)*a(a|b){200}[cd]';

describe('a search', () => {
  test('is charged the length of the text times the size of the program, before it is made', () => {
    const { size } = regexOf(explosive);
    expect(size).toBeGreaterThan(200);
    const budget = new WorkBudget({ steps: 11 * size });
    expect(matchesPattern('abababab', explosive, budget)).toBe(false);
    expect(() => matchesPattern('abab', explosive, budget)).toThrow(WorkBudgetExceeded);
    expect(() => matchesPattern('a'.repeat(Math.ceil(maxSteps / size)), explosive, new WorkBudget())).toThrow(
      WorkBudgetExceeded,
    );
  });

  test('on the event loop is made elsewhere if it is long, or the slice is used up', () => {
    const long = 'a'.repeat(Math.ceil(maxInlineSteps / regexOf(explosive).size));
    expect(() => matchesPattern(long, explosive, inline())).toThrow(OutOfPatience);
    expect(matchesPattern('ab', '^a', inline(true))).toBe(true);
    expect(() => matchesPattern('a'.repeat(400), '^[ab]+[cd]$', inline(true))).toThrow(OutOfPatience);
  });

  test('on the event loop never compiles what takes long', () => {
    const budget = inline();
    for (const pattern of [
      'x{1000}'.repeat(100),
      '\\pL'.repeat(100),
      'y'.repeat(20_000),
      '((z{10}){10}){10}'.repeat(9),
    ])
      expect(() => matchesPattern('x', pattern, budget)).toThrow(OutOfPatience);
  });
});

describe('the estimate of a compilation', () => {
  test('is small for patterns in use', () => {
    for (const pattern of [
      '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
      '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
      '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      '^([0-9]{1,5}(h|m|s|ms)){1,4}$',
    ])
      expect(compilationSteps(pattern)).toBeLessThan(maxInlineSteps / 10);
  });

  test('is never less than the instructions of the program', () => {
    const atom = fc.constantFrom('a', '.', '\\d', '[a-z]', '\\pL', 'é', '\\.', '(?i)k', '^', '|');
    const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 2, withCrossShrink: true },
        atom,
        fc
          .tuple(tie('pattern'), fc.constantFrom('', '*', '+', '?', '{3}', '{2,7}'))
          .map(([inner, times]) => `(${inner})${times}`),
      ),
      pattern: fc.array(tie('part'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    }));
    fc.assert(
      fc.property(pattern, (source) => {
        const regex = regexOf(source);
        if (regex.problem !== undefined) return;
        expect(compilationSteps(source)).toBeGreaterThan(regex.size);
      }),
      { numRuns: 300, seed: 22 },
    );
  });
});

describe('an object', () => {
  const schemaOf = (spec: JsonObject) =>
    compileSchema({ type: 'object', properties: { spec } }, { origin: 'custom', rules: compileRules });

  test('that exceeds the budget has one error that says so', () => {
    const schema = schemaOf({ type: 'array', items: { type: 'string', pattern: explosive } });
    const spec = Array.from({ length: 1_000 }, () => 'a'.repeat(1_000));
    expect(schema.validate({ spec }).map(fieldErrorText)).toEqual([
      '<nil>: Invalid value: null: validation exceeds the budget of 40000000 steps: use shorter values, smaller patterns or fewer alternatives',
    ]);
  });

  test('cannot hide that it exceeds the budget behind `not` or an alternative', () => {
    const rule = { pattern: explosive };
    for (const combinators of [{ not: rule }, { anyOf: [rule, {}] }, { oneOf: [{}, rule] }]) {
      const errors = schemaOf({ type: 'string', ...combinators }).validate({ spec: 'a'.repeat(600_000) });
      expect(errors.map(fieldErrorText)).toEqual([expect.stringContaining('exceeds the budget')]);
    }
  });

  test.each([
    ['matches', `self.matches('${explosive}')`],
    ['find', `self.find('${explosive}') == ''`],
    ['findAll', `self.findAll('${explosive}').size() == 0`],
  ])('whose rule calls %s exceeds the budget like one that costs too much', (_name, rule) => {
    const schema = schemaOf({ type: 'string', 'x-kubernetes-validations': [{ rule }] });
    expect(schema.validate({ spec: 'a'.repeat(600_000) }).map(fieldErrorText)).toEqual([
      expect.stringContaining('actual cost limit exceeded'),
    ]);
    expect(() => schema.validate({ spec: 'ab'.repeat(2_000) }, { isOverdue: () => false })).toThrow(OutOfPatience);
    expect(schema.validate({ spec: 'ab'.repeat(10) }, { isOverdue: () => false })).toHaveLength(
      rule.includes('matches') ? 1 : 0,
    );
  });

  test('is checked against a long enumeration without comparing it with each value', () => {
    const allowed = Array.from({ length: 20_000 }, (_, index) => `v${index}`);
    const schema = schemaOf({ type: 'array', items: { type: 'string', enum: allowed } });
    expect(schema.validate({ spec: Array.from({ length: 50_000 }, () => 'v19999') })).toEqual([]);
    const wrong = schema.validate({ spec: Array.from({ length: 50_000 }, () => 'w') });
    expect(wrong.map(fieldErrorText)).toEqual([expect.stringContaining('exceeds the budget')]);
  });
});
