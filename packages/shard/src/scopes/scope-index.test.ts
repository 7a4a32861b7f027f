import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { APIExportScope } from '@multiplane/apis';
import type { InformerHandlers, InformerSource, ObjectReference } from '@multiplane/client';
import type { CacheIndexes } from '@multiplane/storage';
import { ScopeIndex } from './scope-index.ts';

const provider = 'provider' as LogicalClusterName;
const widgets = { group: 'example.dev', resource: 'widgets' };
const gadgets = { group: 'example.dev', resource: 'gadgets' };

interface Wanted {
  readonly key?: string;
  readonly value?: string;
  readonly identityHash?: string;
  readonly exportCluster?: string;
  readonly resources?: { readonly group: string; readonly resource: string }[];
  readonly generation?: number;
  readonly counted?: number;
  readonly deletionTimestamp?: string;
}

function scope(name: string, wanted: Wanted = {}): APIExportScope {
  const { key = 'owner', value = name, identityHash = 'id1', exportCluster = 'exporter' } = wanted;
  return {
    metadata: {
      name,
      uid: `uid-of-${name}`,
      generation: wanted.generation ?? 1,
      ...(wanted.deletionTimestamp === undefined ? {} : { deletionTimestamp: wanted.deletionTimestamp }),
    },
    spec: {
      export: { name: 'things' },
      selector: { matchLabels: { [key]: value } },
      ...(wanted.resources === undefined ? {} : { resources: wanted.resources }),
    },
    status: { exportCluster, identityHash, conditions: [], ...(wanted.counted === undefined ? {} : { objects: 1 }) },
  } as unknown as APIExportScope;
}

/** An index with an informer that the test drives, and the indexes of the watch cache that it wants. */
class Fixture {
  readonly wanted = new Set<string>();
  readonly index: ScopeIndex;
  readonly #objects = new Map<string, APIExportScope>();
  #handlers: InformerHandlers | undefined;

  constructor() {
    const indexes: CacheIndexes = {
      size: 0,
      add: ({ identity, name }) => void this.wanted.add(`${identity} ${name}`),
      remove: (identity, name) => void this.wanted.delete(`${identity} ${name}`),
      find: () => undefined,
    };
    const informers = {
      informer: () => ({ addHandlers: (handlers: InformerHandlers) => (this.#handlers = handlers) }),
    } as unknown as InformerSource;
    this.index = new ScopeIndex({ informers, indexes });
  }

  put(object: APIExportScope): void {
    const reference = referenceOf(object);
    const old = this.#objects.get(reference.name);
    this.#objects.set(reference.name, object);
    if (old === undefined) this.#handlers?.added?.(object, reference);
    else this.#handlers?.updated?.(object, old, reference);
  }

  remove(name: string): void {
    const old = this.#objects.get(name) as APIExportScope;
    this.#objects.delete(name);
    this.#handlers?.deleted?.(old, referenceOf(old));
  }

  /** `<key>=<value>` of the scopes of a resource. */
  of(resource: typeof widgets, identity = 'id1'): string[] {
    return [...this.index.of(identity, resource)]
      .flatMap(([key, byValue]) => [...byValue.keys()].map((value) => `${key}=${value}`))
      .toSorted();
  }
}

const referenceOf = ({ metadata }: APIExportScope): ObjectReference => ({
  cluster: provider,
  namespace: '',
  name: metadata.name ?? '',
});

describe('scopes in force', () => {
  test('are found by reference, and by identity, resource, label key and value', () => {
    const fixture = new Fixture();
    fixture.put(scope('a'));
    fixture.put(scope('b', { resources: [widgets] }));
    fixture.put(scope('c', { key: 'tier' }));
    fixture.put(scope('d', { identityHash: 'id2' }));
    expect(fixture.of(widgets)).toEqual(['owner=a', 'owner=b', 'tier=c']);
    expect(fixture.of(gadgets)).toEqual(['owner=a', 'tier=c']);
    expect(fixture.of(widgets, 'id2')).toEqual(['owner=d']);
    expect(fixture.of(widgets, 'id3')).toEqual([]);
    expect(fixture.index.get(provider, 'b')).toMatchObject({ key: 'owner', value: 'b', identityHash: 'id1' });
    expect(fixture.index.get('other', 'b')).toBeUndefined();
  });

  test('leave the index when they are deleted, are being deleted, or leave force', () => {
    const fixture = new Fixture();
    for (const name of ['a', 'b', 'c', 'd']) fixture.put(scope(name));
    fixture.remove('a');
    fixture.put(scope('b', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    fixture.put(scope('c', { identityHash: '' }));
    expect(fixture.of(widgets)).toEqual(['owner=d']);
    expect(fixture.index.get(provider, 'b')).toBeUndefined();
    fixture.put(scope('c'));
    expect(fixture.of(widgets)).toEqual(['owner=c', 'owner=d']);
  });

  test('a change of the status alone keeps what was computed; one of the spec does not', () => {
    const fixture = new Fixture();
    fixture.put(scope('a'));
    const before = fixture.index.of('id1', widgets);
    fixture.put(scope('a', { counted: 5 }));
    expect(fixture.index.of('id1', widgets)).toBe(before);
    fixture.put(scope('a', { resources: [gadgets], generation: 2 }));
    expect([fixture.of(widgets), fixture.of(gadgets)]).toEqual([[], ['owner=a']]);
    fixture.put(scope('a', { generation: 2, resources: [gadgets], identityHash: 'id2' }));
    expect([fixture.of(gadgets), fixture.of(gadgets, 'id2')]).toEqual([[], ['owner=a']]);
  });

  test('overlap with another scope of the export that has the label and a common resource', () => {
    const fixture = new Fixture();
    fixture.put(scope('a', { value: 'x', resources: [widgets] }));
    const overlap = (wanted: Wanted, name = 'new', cluster = 'exporter'): string | undefined =>
      fixture.index.overlapping(scope(name, wanted), { cluster: provider, name }, { cluster, name: 'things' })?.name;
    expect(overlap({ value: 'x' })).toBe('a');
    expect(overlap({ value: 'x', resources: [gadgets] })).toBeUndefined();
    expect(overlap({ value: 'y' })).toBeUndefined();
    expect(overlap({ value: 'x', key: 'tier' })).toBeUndefined();
    expect(overlap({ value: 'x' }, 'new', 'another')).toBeUndefined();
    expect(overlap({ value: 'x' }, 'a')).toBeUndefined();
  });
});

describe('indexes of the watch cache', () => {
  test('exist for each identity and label key with a scope', async () => {
    const fixture = new Fixture();
    fixture.put(scope('a'));
    fixture.put(scope('b'));
    fixture.put(scope('c', { key: 'tier' }));
    fixture.put(scope('d', { identityHash: 'id2' }));
    expect([...fixture.wanted]).toEqual(['id1 owner', 'id1 tier', 'id2 owner']);
    fixture.remove('a');
    fixture.remove('c');
    expect([...fixture.wanted]).toEqual(['id1 owner', 'id2 owner']);
    fixture.put(scope('b', { identityHash: '' }));
    fixture.remove('d');
    expect([...fixture.wanted]).toEqual([]);
  });
});
