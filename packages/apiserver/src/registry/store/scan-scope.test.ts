import { describe, expect, test } from '@jest/globals';
import { parseFieldSelector, parseLabelSelector, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry, CacheIndex, CacheIndexes } from '@multiplane/storage';
import { encodeForStorage } from '../codec/object-codec.ts';
import type { ObjectSource } from './object-source.ts';
import { scanScope, type ScanScope } from './scan-scope.ts';

const prefix = '/registry/example.dev/things/identity/';
const cluster = 'consumer' as LogicalClusterName;

const entry = (name: string, value: string | undefined, labels: Record<string, string> = {}): CacheEntry => {
  const spec = value === undefined ? {} : { class: value };
  const object = {
    apiVersion: 'example.dev/v1',
    kind: 'Thing',
    metadata: { name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z', labels },
    spec,
  };
  return {
    key: `${prefix}consumer/default/${name}`,
    revision: 1,
    value: encodeForStorage(object),
    attachment: undefined,
  };
};

const indexesOf = (...names: string[]): CacheIndexes => ({
  size: names.length,
  add: () => undefined,
  remove: () => undefined,
  find: (_prefix, name) => (names.includes(name) ? ({ isBuilt: true } as CacheIndex) : undefined),
});

interface Asked {
  readonly labels?: string;
  readonly fields?: string;
  readonly required?: string;
}

function scopeOf(asked: Asked, indexes: CacheIndexes, definition: Partial<ResourceDefinition> = {}): ScanScope {
  const options = {
    labelSelector: parseLabelSelector(asked.labels ?? ''),
    fieldSelector: parseFieldSelector(asked.fields ?? ''),
    requiredFields: parseFieldSelector(asked.required ?? ''),
  };
  const things = { namespaced: true, fieldSelectors: {}, storage: { prefix }, ...definition };
  const reader = {} as unknown as ObjectSource;
  return scanScope(things as unknown as ResourceDefinition, cluster, 'default', options, reader, indexes);
}

describe('fields that a request requires of the stored objects', () => {
  const entries = [
    entry('a', 'x'),
    entry('b', 'y'),
    entry('c', undefined),
    entry('d', 'x', { tier: 'gold' }),
    entry('e', ''),
  ];
  const names = (selection: ScanScope['selection']): string =>
    entries
      .filter((one) => selection?.(one) !== false)
      .map(({ key }) => key.slice(-1))
      .join('');

  test('select without an index, alone and beside labels and names', () => {
    const none = indexesOf();
    expect(names(scopeOf({ required: 'spec.class=x' }, none).selection)).toBe('ad');
    expect(names(scopeOf({ required: 'spec.class=x', labels: 'tier=gold' }, none).selection)).toBe('d');
    expect(names(scopeOf({ required: 'spec.class!=x' }, none).selection)).toBe('bce');
    expect(names(scopeOf({ required: 'spec.class=x,spec.class=y' }, none).selection)).toBe('');
    const named = scopeOf({ required: 'spec.class=x', fields: 'metadata.name=b' }, none);
    expect([named.scope, named.selectionInScope?.(entries[1] as CacheEntry)]).toEqual([
      `${prefix}consumer/default/b`,
      false,
    ]);
  });

  test('are narrowed by the index of the field, before those of labels', () => {
    const both = indexesOf('.spec.class', 'tier');
    const { indexed } = scopeOf({ required: 'spec.class=x', labels: 'tier=gold' }, both);
    expect(indexed?.where).toEqual({ name: '.spec.class', value: 'x' });
    // The index has decided about the field, so only the label is left.
    expect(names(indexed?.selection)).toBe('d');
    expect(scopeOf({ required: 'spec.class=x' }, both).indexed?.selection).toBeUndefined();
    const byLabel = scopeOf({ required: 'spec.class=x', labels: 'tier=gold' }, indexesOf('tier'));
    expect([byLabel.indexed?.where, names(byLabel.indexed?.selection)]).toEqual([
      { name: 'tier', value: 'gold' },
      'ad',
    ]);
    for (const required of ['spec.class!=x', 'spec.class=', 'spec.other=x'])
      expect(scopeOf({ required }, both).indexed).toBeUndefined();
    // A label with the text of a path is another key.
    expect(scopeOf({ labels: 'spec.class=x' }, both).indexed).toBeUndefined();
  });

  test('need no conversion, so the index serves kinds with a conversion webhook, and their labels do not use one', () => {
    const conversion = { key: 'webhook' } as unknown as ResourceDefinition['conversion'];
    const both = indexesOf('.spec.class', 'tier');
    const alone = scopeOf({ required: 'spec.class=x' }, both, { conversion });
    expect([alone.indexed?.where.name, alone.selectsObjects]).toEqual(['.spec.class', false]);
    const withLabel = scopeOf({ required: 'spec.class=x', labels: 'tier=gold' }, both, { conversion });
    expect([withLabel.indexed?.where.name, withLabel.selectsObjects]).toEqual(['.spec.class', true]);
    expect(scopeOf({ labels: 'tier=gold' }, both, { conversion }).indexed).toBeUndefined();
  });
});
