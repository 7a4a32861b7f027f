import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { metadataEnd, parseMetadata, scanMetadata, topLevelMember, topLevelMembers } from './metadata-scanner.ts';
import { encodeForStorage, encodeForWire } from './object-codec.ts';
import { identityOf, itemOffset, spliced, withRevision } from './stored-layout.ts';
import { pushListItem } from './list-item.ts';

const object = (metadata: Partial<KubeObject['metadata']>, rest: Record<string, unknown> = {}): KubeObject => ({
  metadata: { name: 'n', uid: 'u-1', creationTimestamp: '2026-01-02T03:04:05Z', ...metadata },
  apiVersion: 'example.com/v1',
  ...rest,
  kind: 'Thing',
});

describe('stored bytes', () => {
  test('start with kind and apiVersion, have metadata in wire order and no resourceVersion', () => {
    const bytes = encodeForStorage(
      object(
        { resourceVersion: '7', labels: { b: '2', a: '1' }, namespace: 'ns', generation: 3, generateName: 'g-' },
        { spec: { x: 1 } },
      ),
    );
    expect(bytes.toString()).toBe(
      '{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"n","generateName":"g-","namespace":"ns","uid":"u-1","generation":3,' +
        '"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"a":"1","b":"2"}},"spec":{"x":1}}',
    );
  });

  test('get their resourceVersion inserted without parsing', () => {
    const bytes = encodeForStorage(object({ namespace: 'ns' }, { spec: {} }));
    const shown = JSON.parse(withRevision(bytes, 42).toString()) as KubeObject;
    expect(shown).toEqual({ ...object({ namespace: 'ns', resourceVersion: '42' }), spec: {} });
    expect(spliced(bytes, 5, '{"type":"ADDED","object":', '}\n').toString()).toMatch(
      /^\{"type":"ADDED","object":\{.*"resourceVersion":"5",.*\}\}\n$/,
    );
  });

  test('names that look like the searched marks are no problem', () => {
    const name = 'x","uid":"fake","y';
    const bytes = encodeForStorage(object({ name, annotations: { '"uid":"': '"apiVersion":"' } }));
    const shown = JSON.parse(withRevision(bytes, 9).toString()) as KubeObject;
    expect(shown.metadata).toMatchObject({ name, uid: 'u-1', resourceVersion: '9' });
    expect(identityOf(bytes)).toEqual({ kind: 'Thing', apiVersion: 'example.com/v1', uid: 'u-1' });
  });

  test('keep integers beyond 2^53, text beyond ASCII and a field named __proto__', () => {
    const source = '{"big":12345678901234567890,"text":"ü€😀","__proto__":{"a":1}}';
    const spec = { big: 12345678901234567890n, text: 'ü€😀', ['__proto__']: { a: 1 } };
    expect(topLevelMember(encodeForStorage(object({}, { spec })), 'spec')?.toString()).toBe(source);
  });

  test('require uid and creationTimestamp', () => {
    expect(() => encodeForStorage({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'n' } })).toThrow(TypeError);
  });

  test('are limited in size', () => {
    expect(() => encodeForStorage(object({}, { data: 'x'.repeat(200) }), 100)).toThrow(
      'etcdserver: request is too large',
    );
  });

  test('of objects that were never stored contain the resourceVersion if there is one', () => {
    expect(encodeForWire(object({})).toString()).not.toContain('resourceVersion');
    expect(encodeForWire(object({ resourceVersion: '3' })).toString()).toContain('"uid":"u-1","resourceVersion":"3",');
  });
});

describe('list items', () => {
  const item = (complete: boolean, usualOffset?: number, uid = 'u-1'): string => {
    const parts: string[] = [];
    const sink = {
      push: (bytes: Buffer, start: number, end: number) => void parts.push(bytes.toString('utf8', start, end)),
      pushText: (text: string) => void parts.push(text),
      pushByte: (byte: number) => void parts.push(String.fromCharCode(byte)),
    };
    pushListItem(sink, encodeForStorage(object({ uid }, { spec: { x: 1 } })), 8, complete, usualOffset);
    return parts.join('');
  };

  test('of built-in kinds omit kind and apiVersion, of custom resources contain them', () => {
    const { kind, apiVersion, ...rest } = JSON.parse(item(true)) as KubeObject;
    expect({ kind, apiVersion }).toEqual({ kind: 'Thing', apiVersion: 'example.com/v1' });
    expect(JSON.parse(item(false))).toEqual(rest);
    expect(rest.metadata.resourceVersion).toBe('8');
  });

  test('are equal for any expected offset and any form of uid', () => {
    const stored = encodeForStorage(object({}, { spec: { x: 1 } }));
    for (let offset = 0; offset < stored.length + 3; offset++) expect(item(false, offset)).toBe(item(false));
    for (const uid of ['9b1c8a52-6c3e-4d7b-a6f0-1f2e3d4c5b6a', 'x'.repeat(36), 'u', 'a'.repeat(50)]) {
      const { metadata } = JSON.parse(item(true, undefined, uid)) as KubeObject;
      expect([metadata.uid, metadata.resourceVersion]).toEqual([uid, '8']);
    }
  });
});

describe('scanning stored bytes', () => {
  const bytes = encodeForStorage(
    object(
      {
        labels: { app: 'a"b\\', 'x/y': '' },
        annotations: { json: '{"labels":{"no":"no"}}', end: 'ends with a backslash \\' },
        deletionTimestamp: '2026-01-02T03:04:06Z',
        finalizers: ['example.com/f'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'o', uid: 'o-1' }],
      },
      { spec: { nested: { status: 'no', list: ['}', ']'] } }, status: { ok: true } },
    ),
  );

  test('finds labels, owners, finalizers and deletionTimestamp', () => {
    expect(scanMetadata(bytes)).toEqual({
      labels: { app: 'a"b\\', 'x/y': '' },
      deletionTimestamp: '2026-01-02T03:04:06Z',
      finalizers: ['example.com/f'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'o', uid: 'o-1' }],
    });
  });

  test('finds nothing in minimal metadata', () => {
    expect(scanMetadata(encodeForStorage(object({})))).toEqual({});
  });

  test('extracts metadata and top-level members', () => {
    expect(parseMetadata(bytes).annotations).toEqual({
      json: '{"labels":{"no":"no"}}',
      end: 'ends with a backslash \\',
    });
    expect(bytes.toString('utf8', itemOffset(bytes), metadataEnd(bytes))).toMatch(/^"metadata":\{.*\}$/);
    expect(JSON.parse(topLevelMember(bytes, 'status')?.toString() ?? '')).toEqual({ ok: true });
    expect(topLevelMember(bytes, 'nested')).toBeUndefined();
  });

  test('handles strings of any length and with escapes', () => {
    for (let length = 0; length < 80; length++) {
      for (const end of ['', '"', '\\', '\\"', '\\\\', 'é']) {
        const text = 'x'.repeat(length) + end;
        const stored = encodeForStorage(object({ annotations: { text } }, { spec: { text, [text]: 1 }, [text]: text }));
        expect(parseMetadata(stored).annotations).toEqual({ text });
        const members = new Map(Array.from(topLevelMembers(stored), ([key, value]) => [key, String(value)]));
        expect(members.get('spec')).toBe(JSON.stringify({ text, [text]: 1 }));
        expect(members.get(JSON.stringify(text).slice(1, -1))).toBe(JSON.stringify(text));
      }
    }
  });
});
