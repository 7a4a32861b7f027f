import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, ObjectReference } from '../lister.ts';
import { GlobalInformer } from './global-informer.ts';
import { LateInformerSource } from './late-informer-source.ts';
import { AmbiguousPathError, PathAndNameIndex } from './path-and-name-index.ts';

const east = 'east';
const reference = (cluster: string, name: string): ObjectReference => ({
  cluster: cluster as LogicalClusterName,
  namespace: '',
  name,
});
const keyOf = ({ cluster, name }: ObjectReference): string => `${cluster}/${name}`;

/** An informer that is what a test makes it. */
class TableInformer implements Informer {
  readonly synced = Promise.resolve();
  readonly #objects = new Map<string, { object: KubeObject; reference: ObjectReference }>();
  readonly #handlers = new Set<InformerHandlers>();

  get(at: ObjectReference): KubeObject | undefined {
    return this.#objects.get(keyOf(at))?.object;
  }
  list({ cluster }: { cluster?: LogicalClusterName | undefined } = {}): KubeObject[] {
    return [...this.#objects.values()]
      .filter((entry) => cluster === undefined || entry.reference.cluster === cluster)
      .map(({ object }) => object);
  }
  addHandlers(handlers: InformerHandlers): () => void {
    this.#handlers.add(handlers);
    for (const { object, reference: at } of this.#objects.values()) handlers.added?.(object, at);
    handlers.synced?.();
    return () => void this.#handlers.delete(handlers);
  }
  put(cluster: string, name: string, annotations: Record<string, string> = {}): void {
    const at = reference(cluster, name);
    const old = this.get(at);
    const metadata = { name, annotations: { 'kcp.io/cluster': cluster, ...annotations } };
    const object: KubeObject = { apiVersion: 'v1', kind: 'Thing', metadata };
    this.#objects.set(keyOf(at), { object, reference: at });
    for (const handlers of this.#handlers) {
      if (old === undefined) handlers.added?.(object, at);
      else handlers.updated?.(object, old, at);
    }
  }
  remove(cluster: string, name: string): void {
    const at = reference(cluster, name);
    const old = this.get(at) as KubeObject;
    this.#objects.delete(keyOf(at));
    for (const handlers of this.#handlers) handlers.deleted?.(old, at);
  }
}

let local: TableInformer;
let cached: TableInformer;
beforeEach(() => {
  local = new TableInformer();
  cached = new TableInformer();
});

describe('local objects first, then those of other shards', () => {
  test('the own copy in the cache is never seen, not even when the original is gone', () => {
    const informer = new GlobalInformer({ ownShard: east }, { local, cached });
    cached.put('a', 'x', { 'kcp.io/shard': east });
    expect(informer.get(reference('a', 'x'))).toBeUndefined();
    expect(informer.list()).toEqual([]);
    local.put('a', 'x');
    expect(informer.get(reference('a', 'x'))).toBe(local.get(reference('a', 'x')));
    expect(informer.list()).toEqual(local.list());
  });

  test('what another shard has is seen; where both have it, the local one is', () => {
    const informer = new GlobalInformer({ ownShard: east }, { local, cached });
    cached.put('b', 'x', { 'kcp.io/shard': 'west' });
    cached.put('a', 'x', { 'kcp.io/shard': 'west' });
    local.put('a', 'x');
    expect(informer.get(reference('b', 'x'))).toBe(cached.get(reference('b', 'x')));
    expect(informer.get(reference('a', 'x'))).toBe(local.get(reference('a', 'x')));
    expect(informer.list().length).toBe(2);
    expect(informer.list({ cluster: 'a' as LogicalClusterName })).toEqual(local.list());
  });

  test('nobody else has a say in a logical cluster that lives here', () => {
    const informer = new GlobalInformer(
      { ownShard: east, ownsCluster: (cluster) => cluster === 'a' },
      { local, cached },
    );
    const told: string[] = [];
    informer.addHandlers({ added: (_object, at) => told.push(keyOf(at)) });
    cached.put('a', 'forged', { 'kcp.io/shard': 'west' });
    cached.put('b', 'x', { 'kcp.io/shard': 'west' });
    expect(informer.get(reference('a', 'forged'))).toBeUndefined();
    expect(informer.list({ cluster: 'a' as LogicalClusterName })).toEqual([]);
    expect(informer.list()).toEqual(cached.list({ cluster: 'b' as LogicalClusterName }));
    expect(told).toEqual(['b/x']);
  });

  test('handlers hear of an object that moves between shards without seeing it vanish', () => {
    const told: string[] = [];
    new GlobalInformer({ ownShard: east }, { local, cached }).addHandlers({
      added: (_object, at) => told.push(`added ${keyOf(at)}`),
      updated: (object, old, at) =>
        told.push(
          `updated ${keyOf(at)} ${old.metadata.annotations?.['kcp.io/shard'] ?? 'local'}→${object.metadata.annotations?.['kcp.io/shard'] ?? 'local'}`,
        ),
      deleted: (_old, at) => told.push(`deleted ${keyOf(at)}`),
      synced: () => told.push('synced'),
    });
    cached.put('a', 'x', { 'kcp.io/shard': 'west' });
    local.put('a', 'x');
    cached.put('a', 'x', { 'kcp.io/shard': 'west', version: '2' });
    local.remove('a', 'x');
    cached.put('a', 'x', { 'kcp.io/shard': east });
    cached.remove('a', 'x');
    cached.put('b', 'y', { 'kcp.io/shard': 'west' });
    cached.remove('b', 'y');
    expect(told).toEqual([
      'synced',
      'added a/x',
      'updated a/x west→local',
      'updated a/x local→west',
      'deleted a/x',
      'added b/y',
      'deleted b/y',
    ]);
  });
});

describe('lookup by path and name', () => {
  test('finds by logical cluster and by canonical path, and follows changes of the path', async () => {
    local.put('1a2b', 'x', { 'kcp.io/path': 'root:org' });
    const index = new PathAndNameIndex({ informer: local });
    await index.synced;
    const found = local.get(reference('1a2b', 'x'));
    expect(index.byPathAndName('root:org', 'x')).toBe(found);
    expect(index.byPathAndName('1a2b', 'x')).toBe(found);
    expect(index.byPathAndName('root:org', 'y')).toBeUndefined();
    local.put('1a2b', 'x', { 'kcp.io/path': 'root:moved' });
    expect(index.byPathAndName('root:org', 'x')).toBeUndefined();
    expect(index.byPathAndName('root:moved', 'x')?.metadata.name).toBe('x');
    local.remove('1a2b', 'x');
    expect(index.byPathAndName('root:moved', 'x')).toBeUndefined();
    expect(index.byPathAndName('1a2b', 'x')).toBeUndefined();
  });

  test('two objects of one path and name are an error, never a guess', () => {
    const index = new PathAndNameIndex({ informer: local });
    local.put('1a', 'x', { 'kcp.io/path': 'root:org' });
    local.put('2b', 'x', { 'kcp.io/path': 'root:org' });
    expect(() => index.byPathAndName('root:org', 'x')).toThrow(AmbiguousPathError);
    expect(index.byPathAndName('1a', 'x')?.metadata.name).toBe('x');
  });
});

describe('informers of a source that is known later', () => {
  test('are empty until then, and tell what is there when it comes', async () => {
    cached.put('a', 'x');
    const late = new LateInformerSource();
    const things = { group: 'example.com', version: 'v1', resource: 'things' };
    const informer = late.informer(things);
    const told: string[] = [];
    informer.addHandlers({ added: (_object, at) => told.push(keyOf(at)), synced: () => told.push('synced') });
    const stop = informer.addHandlers({ synced: () => told.push('stopped') });
    const stopLater = informer.addHandlers({ added: (_object, at) => told.push(`later ${keyOf(at)}`) });
    stop();
    expect([informer.get(reference('a', 'x')), informer.list()]).toEqual([undefined, []]);
    late.bind({ informer: () => cached as never });
    await informer.synced;
    expect(told).toEqual(['a/x', 'synced', 'later a/x']);
    expect(informer.get(reference('a', 'x'))).toBe(cached.get(reference('a', 'x')));
    stopLater();
    cached.put('b', 'x');
    expect(told.slice(3)).toEqual(['b/x']);
    expect(late.informer(things)).toBe(informer);
    expect(() => late.bind({ informer: () => cached as never })).toThrow('already');
  });
});
