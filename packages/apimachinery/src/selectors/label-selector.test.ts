import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fieldErrorText, FieldPath } from '../validation/field-error.ts';
import type { LabelRequirement } from './label-requirement.ts';
import {
  labelSelectorFromObject,
  LabelSelector,
  parseLabelSelector,
  selectEverything,
  selectNothing,
  validateLabelSelectorObject,
} from './label-selector.ts';

describe('parseLabelSelector', () => {
  test.each([
    ['half=a', { half: 'a' }, true],
    ['half==a', { half: 'b' }, false],
    ['half!=a', {}, true],
    ['half!=a', { half: 'a' }, false],
    ['half in (a,b)', { half: 'b' }, true],
    ['half in (a, b)', {}, false],
    ['half notin (a,b)', { half: 'c' }, true],
    ['half notin (a,b)', {}, true],
    ['half', { half: '' }, true],
    ['!half', { half: '' }, false],
    ['! half', {}, true],
    ['half=', { half: '' }, true],
    ['half in ()', { half: '' }, true],
    ['half in (a,)', { half: '' }, true],
    ['half in (,a)', { half: '' }, true],
    ['half in (a,,b)', { half: '' }, true],
    ['n<2', { n: '1' }, true],
    ['n>1', { n: '1' }, false],
    ['n>5', { n: '+6' }, true],
    ['n>1', { n: 'x' }, false],
    ['n>1', {}, false],
    ['in', { in: 'x' }, true],
    ['in in (in)', { in: 'in' }, true],
    ['constructor', {}, false],
    ['!__proto__x,a=b', { a: 'b' }, true],
    [' \t', {}, true],
    ['', { a: 'b' }, true],
  ])('%j on %j', (text, labels: Record<string, string>, matches) => {
    if (text.includes('__proto__x')) expect(() => parseLabelSelector(text)).toThrow('name part must consist');
    else expect(parseLabelSelector(text).matches(labels)).toBe(matches);
  });

  test.each([
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a!b', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ['!a b', "found 'b', expected: ',' or 'end of string'"],
    ['a==!b', "unable to parse requirement: found '!', expected: identifier"],
    [
      'a<',
      `unable to parse requirement: values[0]: Invalid value: "": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['a=b,', "found '', expected: identifier after ','"],
    ['(a)', "found '(', expected: !, identifier, or 'end of string'"],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    [
      `a=${'b'.repeat(64)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${'b'.repeat(64)}": must be no more than 63 bytes`,
    ],
    [
      `${'a'.repeat(64)}=b`,
      `unable to parse requirement: <nil>: Invalid value: "${'a'.repeat(64)}": name part must be no more than 63 bytes`,
    ],
  ])('refuses %.20j', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ name: 'SelectorParseError', message }));
  });

  test('names the bad key and the bad value', () => {
    expect(() => parseLabelSelector('-a=b')).toThrow(
      /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/,
    );
    expect(() => parseLabelSelector('a=-')).toThrow(
      /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-": a valid label must be/,
    );
  });

  test('sorts terms and values', () => {
    const selector = parseLabelSelector('z in (b,a), !y, x>5, a==1,b!=2,c notin (q), d, e=f, g<3');
    expect(selector.toString()).toBe('a==1,b!=2,c notin (q),d,e=f,g<3,x>5,!y,z in (a,b)');
    expect(selector.exactValue('e')).toBe('f');
    expect(selector.exactValue('z')).toBeUndefined();
    expect(selector.empty).toBe(false);
  });

  test('reads back what it prints', () => {
    const key = fc.constantFrom('a', 'b.c/d', 'in', 'notin', 'X_1');
    const value = fc.constantFrom('', 'v', 'in', 'A.b-c', '12');
    const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
      fc.record({ key, operator: fc.constantFrom('=', '==', '!=', 'in', 'notin'), values: fc.tuple(value) }),
      fc.record({
        key,
        operator: fc.constantFrom('in', 'notin'),
        values: fc.uniqueArray(value, { minLength: 1 }).map((list) => list.sort()),
      }),
      fc.record({ key, operator: fc.constantFrom('exists', '!'), values: fc.constant([]) }),
      fc.record({ key, operator: fc.constantFrom('gt', 'lt'), values: fc.tuple(fc.integer({ min: 0 }).map(String)) }),
    );
    fc.assert(
      fc.property(fc.array(requirement), (requirements) => {
        const selector = new LabelSelector(requirements);
        expect(parseLabelSelector(selector.toString()).requirements).toEqual(selector.requirements);
      }),
    );
  });

  test('survives a huge selector', () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}!=v`);
    expect(parseLabelSelector(keys.join(',')).matches({})).toBe(true);
    const values = Array.from({ length: 200_000 }, (_, index) => `v${index}`);
    expect(parseLabelSelector(`a in (${values.join(',')})`).matches({ a: 'v199999' })).toBe(true);
    const many = parseLabelSelector(`a notin (${values.join(',')})`);
    for (let object = 0; object < 10_000; object++) expect(many.matches({ a: `w${object}` })).toBe(true);
    expect(() => parseLabelSelector('('.repeat(1_000_000))).toThrow("found '('");
  });
});

describe('a metav1.LabelSelector', () => {
  test('selects by labels and expressions', () => {
    const selector = labelSelectorFromObject({
      matchLabels: { a: 'b' },
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['y', 'x', 'x'] },
        { key: 'd', operator: 'DoesNotExist' },
        { key: 'e', operator: 'NotIn', values: ['q'] },
        { key: 'f', operator: 'Exists' },
      ],
    });
    expect(selector.toString()).toBe('a=b,c in (x,y),!d,e notin (q),f');
    expect(selector.matches({ a: 'b', c: 'x', f: '' })).toBe(true);
    expect(selector.matches({ a: 'b', c: 'x', f: '', d: '' })).toBe(false);
  });

  test('null selects nothing, the empty one everything', () => {
    expect(labelSelectorFromObject(null)).toBe(selectNothing);
    expect(labelSelectorFromObject(undefined).matches({})).toBe(false);
    expect(labelSelectorFromObject({})).toBe(selectEverything);
    expect(selectNothing.empty).toBe(false);
    expect(selectEverything.empty).toBe(true);
  });

  test('is checked with paths', () => {
    const bad = {
      matchLabels: { a: '-' },
      matchExpressions: [
        { key: 'b', operator: 'In', values: [] },
        { key: 'c', operator: 'Is' },
      ],
    };
    expect(validateLabelSelectorObject(bad, FieldPath.of('spec')).map(fieldErrorText)).toEqual([
      expect.stringMatching(/^spec\.matchLabels: Invalid value: "-": a valid label/),
      "spec.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.matchExpressions[1].operator: Invalid value: "Is": not a valid selector operator',
    ]);
    const worse = { matchExpressions: [{ key: '', operator: 'Exists', values: ['-'] }] };
    expect(
      validateLabelSelectorObject(worse, FieldPath.of('spec')).map((error) => `${error.field} ${error.type}`),
    ).toEqual([
      'spec.matchExpressions[0].values FieldValueForbidden',
      'spec.matchExpressions[0].key FieldValueInvalid',
      'spec.matchExpressions[0].key FieldValueInvalid',
      'spec.matchExpressions[0].values[0] FieldValueInvalid',
    ]);
    expect(() => labelSelectorFromObject(bad)).toThrow('"Is" is not a valid label selector operator');
    expect(() => labelSelectorFromObject({ matchLabels: { a: '-' } })).toThrow(
      /^values\[0\]\[a\]: Invalid value: "-": a valid label/,
    );
    expect(validateLabelSelectorObject(undefined, FieldPath.of('spec'))).toEqual([]);
  });
});
