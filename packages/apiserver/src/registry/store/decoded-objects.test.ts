import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { DecodedObjects } from './decoded-objects.ts';

const stored = (key: string, revision: number, value = `{"kind":"K","metadata":{"name":"${key}"}}`) => ({
  key,
  revision,
  value: Buffer.from(value),
});

describe('parsed objects', () => {
  test('are shared and frozen, with their resourceVersion', () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const object = decoded.get(stored('a', 3));
    expect(object.metadata).toEqual({ name: 'a', resourceVersion: '3' });
    expect(decoded.get(stored('a', 3))).toBe(object);
    expect(() => {
      (object as KubeObject).metadata.name = 'b';
    }).toThrow(TypeError);
  });

  test('of different keys with equal revisions are distinguished', () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    decoded.get(stored('a', 3));
    expect(decoded.get(stored('b', 3)).metadata.name).toBe('b');
  });

  test('are limited in bytes; the least recently used are evicted', () => {
    const decoded = new DecodedObjects({ maxBytes: 4000 });
    const first = decoded.get(stored('first', 1));
    for (let revision = 2; revision < 200; revision++) {
      decoded.get(stored(`k${revision}`, revision));
      expect(decoded.get(stored('first', 1))).toBe(first);
      expect(decoded.bytes).toBeLessThanOrEqual(4000);
    }
    expect(decoded.peek('k2', 2)).toBeUndefined();
  });

  test('that were not used for a whole period are released', () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const [used, unused] = [stored('used', 1), stored('unused', 2)];
    const first = [decoded.get(unused), decoded.get(used)];
    decoded.releaseUnused();
    expect(decoded.get(used)).toBe(first[1]);
    expect(decoded.peek('unused', 2)).toBe(first[0]);
    decoded.releaseUnused();
    expect([decoded.peek('used', 1), decoded.peek('unused', 2)]).toEqual([first[1], undefined]);
    decoded.releaseUnused();
    expect(decoded.bytes).toBe(0);
  });

  test('are known without parsing while a write is in flight and while cached', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const entry = stored('a', 5);
    expect(decoded.knownMetadata(entry)).toBeUndefined();
    const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' } };
    await decoded.announce('a', entry.value, object, async () => {
      expect(decoded.knownMetadata(entry)).toBe(object.metadata);
      expect(
        decoded.knownMetadata(stored('a', 5, '{"kind":"K","metadata":{"name":"a","uid":"other"}}')),
      ).toBeUndefined();
      expect(decoded.knownMetadata(stored('b', 5))).toBeUndefined();
      return 5;
    });
    expect(decoded.knownMetadata(entry)).toEqual({ name: 'a', resourceVersion: '5' });
    expect(decoded.knownMetadata(stored('a', 6))).toBeUndefined();
  });

  test('of a write can be read before the writer knows the revision', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' }, secret: {} } as KubeObject;
    const bytes = Buffer.from('these bytes are no JSON');
    let seen: unknown;
    await decoded.announce('a', bytes, object, async () => {
      seen = decoded.get({ key: 'a', revision: 7, value: Buffer.from(bytes) })['secret'];
      return Promise.resolve(7);
    });
    expect(seen).toBe(object['secret']);
    expect(decoded.peek('a', 7)?.['secret']).toBe(object['secret']);
  });

  test('of replaced revisions are parsed but not cached', () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const object = decoded.past(stored('a', 3));
    expect(object.metadata).toEqual({ name: 'a', resourceVersion: '3' });
    expect(decoded.bytes).toBe(0);
    const known = decoded.get(stored('a', 4));
    expect(decoded.past(stored('a', 4))).toBe(known);
  });

  test('of a write have the conformance that the writer announced', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const object: KubeObject = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' } };
    let seen: unknown;
    await decoded.announce(
      'a',
      Buffer.from('{}'),
      object,
      async () => {
        decoded.get({ key: 'a', revision: 1, value: Buffer.from('{}') });
        seen = decoded.conformanceOf('a', 1);
        return Promise.resolve(1);
      },
      'hash',
    );
    expect(seen).toBe('hash');
    await decoded.announce('a', Buffer.from('{}'), object, () => Promise.resolve(2), 'other');
    expect(decoded.conformanceOf('a', 2)).toBe('other');
    expect(decoded.conformanceOf('b', 2)).toBeUndefined();
    decoded.get(stored('c', 3));
    expect(decoded.conformanceOf('c', 3)).toBeUndefined();
  });

  test('of a write are cached even if they were not read during the write', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const object: KubeObject = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' } };
    await decoded.announce('a', Buffer.from('{}'), object, () => Promise.resolve(1));
    expect(decoded.peek('a', 1)?.metadata).toEqual({ name: 'a', resourceVersion: '1' });
    expect(Object.isFrozen(decoded.peek('a', 1)?.metadata)).toBe(true);
    expect(decoded.peek('a', 1)).toBe(decoded.get({ key: 'a', revision: 1, value: Buffer.from('{}') }));
  });

  test('of concurrent writes of one key are distinguished by their bytes', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    await decoded.announce(
      'a',
      Buffer.from('{"kind":"Mine","metadata":{}}'),
      { apiVersion: 'v1', kind: 'Mine', metadata: {} },
      async () => {
        expect(decoded.get(stored('a', 6, '{"kind":"Theirs","metadata":{}}')).kind).toBe('Theirs');
        return Promise.resolve(7);
      },
    );
  });

  test('of a failed write are dropped', async () => {
    const decoded = new DecodedObjects({ maxBytes: 1e6 });
    const failed = decoded.announce(
      'a',
      Buffer.from('{"kind":"Mine","metadata":{}}'),
      { apiVersion: 'v1', kind: 'Mine', metadata: {} },
      () => Promise.reject(new Error('no')),
    );
    await expect(failed).rejects.toThrow('no');
    expect(decoded.get(stored('a', 8)).kind).toBe('K');
  });
});
