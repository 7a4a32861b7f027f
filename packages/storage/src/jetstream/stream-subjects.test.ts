import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { isStorageError } from '../errors.ts';
import { StreamSubjects } from './stream-subjects.ts';

const subjects = new StreamSubjects('multiplane.cache');

describe('subjects of keys', () => {
  test.each([
    [
      '/cache/apis.kcp.io/apiexports/customresources/root/2k9x/things',
      'multiplane.cache.root.apis=2Ekcp=2Eio.apiexports.customresources.2k9x.=.things',
    ],
    ['/cache/core/secrets/f00d/s-1/root/ns/a.b', 'multiplane.cache.s-1.core.secrets.f00d.root.ns.a=2Eb'],
    ['/registry/core/a b/*', 'multiplane.cache.=key.=.registry.core.a=20b.=2A'],
  ])('%s', (key, subject) => {
    expect(subjects.encode(key)).toBe(subject);
    expect(subjects.decode(subject)).toBe(key);
  });

  test('arbitrary text is mapped reversibly, and no token has a meaning in NATS', () => {
    const part = fc
      .string({ unit: 'binary', maxLength: 30 })
      .filter((text) => text.isWellFormed() && !text.includes('/'));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const key = `/registry/${parts.join('/')}`;
        const subject = subjects.encode(key);
        expect(subject).toMatch(/^[A-Za-z0-9_:=.-]+$/);
        expect(subject.split('.')).not.toContain('');
        expect(subjects.decode(subject)).toBe(key);
      }),
    );
  });

  test.each([
    ['/cache/', 'multiplane.cache.>'],
    ['/cache/apis.kcp.io/', 'multiplane.cache.*.apis=2Ekcp=2Eio.>'],
    ['/cache/g/r/', 'multiplane.cache.*.g.r.>'],
    ['/cache/g/r/customresources/', 'multiplane.cache.*.g.r.customresources.>'],
    ['/cache/g/r/customresources/s/', 'multiplane.cache.s.g.r.customresources.>'],
    ['/cache/g/r/customresources/s/c/', 'multiplane.cache.s.g.r.customresources.c.>'],
    ['/cache/g/r/customresources/s/c/ns/', 'multiplane.cache.s.g.r.customresources.c.>'],
    ['/registry/', 'multiplane.cache.=key.=.registry.>'],
  ])('the filter of %s matches the keys below it', (prefix, filter) => expect(subjects.filter(prefix)).toBe(filter));

  test('internal subjects map to no key', () => {
    expect(subjects.decode(subjects.watermark)).toBeUndefined();
    expect(subjects.decode('elsewhere.a.b')).toBeUndefined();
  });

  test('an invalid key of a cached object is refused, and a key that is too long', () => {
    expect(() => subjects.encode('/cache/a/b')).toThrow(TypeError);
    let failure: unknown;
    try {
      subjects.encode(`/registry/${'é'.repeat(2000)}`);
    } catch (error) {
      failure = error;
    }
    expect(isStorageError(failure, 'ValueTooLarge')).toBe(true);
  });
});
