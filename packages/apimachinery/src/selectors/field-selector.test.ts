import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FieldSelector, parseFieldSelector, type FieldRequirement } from './field-selector.ts';

describe('parseFieldSelector', () => {
  test('reads comparisons and skips empty terms', () => {
    expect(parseFieldSelector('metadata.name=a,spec.x!=b,,spec.y==c,').requirements).toEqual([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'spec.x', operator: '!=', value: 'b' },
      { field: 'spec.y', operator: '=', value: 'c' },
    ]);
    expect(parseFieldSelector('').empty).toBe(true);
    expect(parseFieldSelector(',').empty).toBe(true);
    expect(parseFieldSelector('=a').requirements).toEqual([{ field: '', operator: '=', value: 'a' }]);
    expect(parseFieldSelector('=,!=,==').empty).toBe(true);
    expect(parseFieldSelector('b=1,a=2').toString()).toBe('a=2,b=1');
    expect(parseFieldSelector(String.raw`a\=b`).requirements).toEqual([{ field: 'a\\', operator: '=', value: 'b' }]);
    expect(parseFieldSelector('metadata.name=%').exactValue('metadata.name')).toBe('%');
    expect(parseFieldSelector(String.raw`a=x\,y\=z\\`).exactValue('a')).toBe('x,y=z\\');
  });

  test.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a=b,c', "invalid selector: 'a=b,c'; can't understand 'c'"],
    ['metadata.name in (a)', "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"],
    ['metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
    ['metadata.name=a\\', 'invalid field selector: invalid escape sequence: \\'],
    [String.raw`metadata.name=a\x`, String.raw`invalid field selector: invalid escape sequence: \x`],
  ])('refuses %j', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ name: 'SelectorParseError', message }));
  });

  test('matches', () => {
    const selector = parseFieldSelector('a=1,b!=2');
    expect(selector.matches((field) => (field === 'a' ? '1' : ''))).toBe(true);
    expect(selector.matches((field) => (field === 'a' ? '1' : '2'))).toBe(false);
    expect(selector.exactValue('b')).toBeUndefined();
    expect(parseFieldSelector('a=1,a=2').matches(() => '1')).toBe(false);
  });

  test('looks no more at what is known', () => {
    const selector = parseFieldSelector('a!=1,a=1,a=2,b=1');
    expect(selector.given('a', '1').toString()).toBe('a!=1,a=2,b=1');
    expect(selector.given('c', '1')).toBe(selector);
    expect(parseFieldSelector('a=1').given('a', '1').empty).toBe(true);
  });

  test('reads back what it prints', () => {
    const requirement: fc.Arbitrary<FieldRequirement> = fc.record({
      field: fc.constantFrom('metadata.name', 'spec.x', ''),
      operator: fc.constantFrom('=', '!='),
      value: fc.oneof(fc.string(), fc.constantFrom(',', '=', '\\', '\\,=')),
    });
    fc.assert(
      fc.property(fc.array(requirement), (requirements) => {
        const kept = requirements.filter(({ field, value }) => field !== '' || value !== '');
        const text = new FieldSelector(requirements).toString();
        expect(parseFieldSelector(text).requirements).toEqual(expect.arrayContaining(kept));
        expect(parseFieldSelector(text).requirements).toHaveLength(kept.length);
      }),
    );
  });
});
