import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  effectiveLimits,
  formatSettings,
  inheritedLimits,
  inheritedLimitsAnnotation,
  limitAnnotations,
  limitNames,
  parseLimit,
  type DefaultLimits,
} from './workspace-limits.ts';

const defaults = Object.fromEntries(limitNames.map((name) => [name, 100])) as DefaultLimits;
const key = limitAnnotations.bytes;

/** The limit of bytes in force at the end of a path, with these annotations on the Workspaces below root. */
function along(...settings: (string | undefined)[]): { max: number; by: string | undefined } {
  let path = 'root';
  let limits = effectiveLimits(undefined, defaults, true);
  for (const [depth, setting] of settings.entries()) {
    const inherited = formatSettings(
      inheritedLimits({ path, limits }, setting === undefined ? {} : { [key]: setting }),
    );
    path += `:w${depth}`;
    limits = effectiveLimits(
      inherited === undefined ? {} : { [inheritedLimitsAnnotation]: inherited },
      defaults,
      false,
    );
  }
  const { max, by } = limits.bytes;
  return { max, by };
}

describe('a limit', () => {
  test.each([
    ['0', 0],
    ['500', 500],
    ['2Gi', 2 * 1024 ** 3],
    ['1.5k', 1500],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s', (text, value) => expect(parseLimit('bytes', text)).toBe(value));
  test.each(['', ' 1', 'a', '1.5', '-1', '1e9', '9007199254740992', '9Pi0', '99999999999999Pi', '__proto__', 'NaN'])(
    '%j is none',
    (text) => expect(() => parseLimit('bytes', text)).toThrow(/^must /),
  );
  test('of objects may be negative for none, as in kcp', () => expect(parseLimit('objects', '-1')).toBe(0));
  test('of any text is a number in range or an error', () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        try {
          const value = parseLimit('bytes', text);
          expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
        } catch (error) {
          expect((error as Error).message).toMatch(/^must /);
        }
      }),
    ));
});

describe('down the tree', () => {
  test('a workspace without settings has the default', () =>
    expect([along(undefined), along(undefined, undefined)]).toEqual([
      { max: 100, by: undefined },
      { max: 100, by: undefined },
    ]));
  test('root sets more than the default, or none', () =>
    expect([along('500'), along('0')]).toEqual([
      { max: 500, by: 'root' },
      { max: Infinity, by: 'root' },
    ]));
  test('a child inherits the limit of its parent, and the name of who can raise it', () =>
    expect(along('500', undefined, undefined)).toEqual({ max: 500, by: 'root' }));
  test('the lowest setting counts', () => {
    expect(along('500', '50', '400')).toEqual({ max: 50, by: 'root:w0' });
    expect(along('50', '500')).toEqual({ max: 50, by: 'root' });
    expect(along('500', '0')).toEqual({ max: 500, by: 'root' });
  });
  test('a default is a ceiling for what is below', () => {
    expect(along(undefined, '500')).toEqual({ max: 100, by: undefined });
    expect(along(undefined, '0')).toEqual({ max: 100, by: undefined });
    expect(along(undefined, '50')).toEqual({ max: 50, by: 'root:w0' });
  });
  test('an unlimited parent has no ceiling', () => expect(along('0', '500')).toEqual({ max: 500, by: 'root:w0' }));
  test('no child has more than its parent', () => {
    const setting = fc.option(fc.constantFrom('0', '10', '50', '100', '500', 'nonsense'), { nil: undefined });
    fc.assert(
      fc.property(fc.array(setting, { minLength: 1, maxLength: 6 }), setting, (path, last) => {
        expect(along(...path, last).max).toBeLessThanOrEqual(along(...path).max);
      }),
    );
  });
});

test('the annotation of the LogicalCluster replaces the default, below what the parent set', () => {
  const own = { [key]: '500' };
  expect(effectiveLimits(own, defaults, false).bytes).toEqual({ max: 500, by: undefined, isDefault: false });
  const inherited = { [inheritedLimitsAnnotation]: '{"bytes":{"max":50,"by":"root"}}' };
  expect(effectiveLimits({ ...own, ...inherited }, defaults, false).bytes).toMatchObject({ max: 50, by: 'root' });
  for (const text of ['', 'null', '[]', '{"bytes":3}', '{"bytes":{"max":"9"}}', '{"__proto__":{"bytes":{"max":1}}}'])
    expect(effectiveLimits({ [inheritedLimitsAnnotation]: text }, defaults, false).bytes.max).toBe(100);
});
