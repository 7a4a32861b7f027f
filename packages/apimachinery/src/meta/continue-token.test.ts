import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeContinueToken, encodeContinueToken, encodeContinueTokenFrom } from './continue-token.ts';
import { objectRevision, parseResourceVersion } from './resource-version.ts';

const prefix = '/registry/core/configmaps/root/';
const raw = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('continue tokens', () => {
  test('look like those of Kubernetes and come back', () => {
    const token = encodeContinueToken(`${prefix}ns/a`, prefix, 42);
    expect(Buffer.from(token, 'base64url').toString()).toBe(
      String.raw`{"v":"meta.k8s.io/v1","rv":42,"start":"ns/a\u0000"}`,
    );
    expect(decodeContinueToken(token, prefix)).toEqual({ from: `${prefix}ns/a\0`, revision: 42 });
    const inconsistent = encodeContinueTokenFrom(`${prefix}ns/a`, prefix, -1);
    expect(decodeContinueToken(inconsistent, prefix)).toEqual({ from: `${prefix}ns/a`, revision: -1 });
    expect(() => encodeContinueToken('/elsewhere/a', prefix, 1)).toThrow(RangeError);
  });

  test.each([
    ['x', 'illegal base64 data at input byte 0'],
    ['undefined', 'illegal base64 data at input byte 8'],
    ['==', 'illegal base64 data at input byte 0'],
    ['a+b', 'illegal base64 data at input byte 1'],
    [raw('{'), 'unexpected end of JSON input'],
    [raw('[]'), 'json: cannot unmarshal value into Go value of type storage.continueToken'],
    [raw({ v: 5 }), 'json: cannot unmarshal value into Go struct field of type storage.continueToken'],
    [raw({}), 'server does not recognize this encoded version '],
    [raw({ v: 'meta.k8s.io/v2', rv: 5, start: 'a' }), 'server does not recognize this encoded version meta.k8s.io/v2'],
    [raw({ v: 'meta.k8s.io/v1' }), 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    [raw({ v: 'meta.k8s.io/v1', rv: 5 }), 'encoded start key empty (version meta.k8s.io/v1)'],
    [raw({ v: 'meta.k8s.io/v1', rv: 5, start: '../x' }), '../x'],
    [raw({ v: 'meta.k8s.io/v1', rv: 5, start: 'a//b' }), 'a//b'],
    [raw({ v: 'meta.k8s.io/v1', rv: 5, start: 'a/./b' }), 'a/./b'],
  ])('%s is refused', (token, why) => {
    expect(() => decodeContinueToken(token, prefix)).toThrow(
      expect.objectContaining({ code: 400, message: `invalid continue token: continue key is not valid: ${why}` }),
    );
  });

  test('never lead out of the list', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('..', '/..', 'a/../..', './a', '/', '//', 'a/')), (start) => {
        let from: string;
        try {
          ({ from } = decodeContinueToken(raw({ v: 'meta.k8s.io/v1', rv: 1, start }), prefix));
        } catch {
          return;
        }
        expect(from.startsWith(prefix)).toBe(true);
        expect(from.split('/')).not.toContain('..');
      }),
    );
  });
});

describe('resource versions', () => {
  test('are numbers; nothing and zero are the same', () => {
    expect(['', '0', '17', '007'].map(parseResourceVersion)).toEqual([0, 0, 17, 7]);
    expect([undefined, '', '0', '5'].map(objectRevision)).toEqual([0, 0, 0, 5]);
  });

  test.each(['x', '-1', '+1', '1.5', ' 1', '0x1'])('%j is none', (text) => {
    const why = `strconv.ParseUint: parsing "${text}": invalid syntax`;
    expect(() => parseResourceVersion(text)).toThrow(`resourceVersion: Invalid value: "${text}": ${why}`);
    expect(() => objectRevision(text)).toThrow(why);
  });

  test('are bounded', () => {
    expect(parseResourceVersion('18446744073709551615')).toBe(2 ** 64);
    expect(() => parseResourceVersion('18446744073709551616')).toThrow('value out of range');
    expect(() => parseResourceVersion('9'.repeat(1_000_000))).toThrow('value out of range');
    expect(parseResourceVersion(`${'0'.repeat(1_000_000)}7`)).toBe(7);
  });
});
