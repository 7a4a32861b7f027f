import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, ObjectReference } from '../lister.ts';
import { GlobalInformer } from './global-informer.ts';
import { DeferredInformerSource } from './deferred-informer-source.ts';
import { AmbiguousPathError, PathAndNameIndex } from './path-and-name-index.ts';

const east = 'east';
const reference = (cluster: string, name: string): ObjectReference => ({
  cluster: cluster as LogicalClusterName,
  namespace: '',
  name,
});
const keyOf = ({ cluster, name }: ObjectReference): string => `${cluster}/${name}`;

/** An informer over objects that the test puts. */
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

describe('global informer', () => {
  test('hides cached objects of the local shard, even when the local object is deleted', () => {
    const informer = new GlobalInformer({ localShard: east }, { local, cached });
    cached.put('a', 'x', { 'kcp.io/shard': east });
    expect(informer.get(reference('a', 'x'))).toBeUndefined();
    expect(informer.list()).toEqual([]);
    local.put('a', 'x');
    expect(informer.get(reference('a', 'x'))).toBe(local.get(reference('a', 'x')));
    expect(informer.list()).toEqual(local.list());
  });

  test('shows objects of other shards, and prefers local ones', () => {
    const informer = new GlobalInformer({ localShard: east }, { local, cached });
    cached.put('b', 'x', { 'kcp.io/shard': 'west' });
    cached.put('a', 'x', { 'kcp.io/shard': 'west' });
    local.put('a', 'x');
    expect(informer.get(reference('b', 'x'))).toBe(cached.get(reference('b', 'x')));
    expect(informer.get(reference('a', 'x'))).toBe(local.get(reference('a', 'x')));
    expect(informer.list().length).toBe(2);
    expect(informer.list({ cluster: 'a' as LogicalClusterName })).toEqual(local.list());
  });

  test('hides cached objects in logical clusters of the local shard', () => {
    const informer = new GlobalInformer(
      { localShard: east, isLocalCluster: (cluster) => cluster === 'a' },
      { local, cached },
    );
    const events: string[] = [];
    informer.addHandlers({ added: (_object, at) => events.push(keyOf(at)) });
    cached.put('a', 'forged', { 'kcp.io/shard': 'west' });
    cached.put('b', 'x', { 'kcp.io/shard': 'west' });
    expect(informer.get(reference('a', 'forged'))).toBeUndefined();
    expect(informer.list({ cluster: 'a' as LogicalClusterName })).toEqual([]);
    expect(informer.list()).toEqual(cached.list({ cluster: 'b' as LogicalClusterName }));
    expect(events).toEqual(['b/x']);
  });

  test('turns a move between shards into updates', () => {
    const events: string[] = [];
    new GlobalInformer({ localShard: east }, { local, cached }).addHandlers({
      added: (_object, at) => events.push(`added ${keyOf(at)}`),
      updated: (object, old, at) =>
        events.push(
          `updated ${keyOf(at)} ${old.metadata.annotations?.['kcp.io/shard'] ?? 'local'}→${object.metadata.annotations?.['kcp.io/shard'] ?? 'local'}`,
        ),
      deleted: (_old, at) => events.push(`deleted ${keyOf(at)}`),
      synced: () => events.push('synced'),
    });
    cached.put('a', 'x', { 'kcp.io/shard': 'west' });
    local.put('a', 'x');
    cached.put('a', 'x', { 'kcp.io/shard': 'west', version: '2' });
    local.remove('a', 'x');
    cached.put('a', 'x', { 'kcp.io/shard': east });
    cached.remove('a', 'x');
    cached.put('b', 'y', { 'kcp.io/shard': 'west' });
    cached.remove('b', 'y');
    expect(events).toEqual([
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

describe('path and name index', () => {
  test('finds objects by logical cluster and by canonical path, and follows changes of the path', async () => {
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

  test('throws for two objects with the same path and name', () => {
    const index = new PathAndNameIndex({ informer: local });
    local.put('1a', 'x', { 'kcp.io/path': 'root:org' });
    local.put('2b', 'x', { 'kcp.io/path': 'root:org' });
    expect(() => index.byPathAndName('root:org', 'x')).toThrow(AmbiguousPathError);
    expect(index.byPathAndName('1a', 'x')?.metadata.name).toBe('x');
  });
});

describe('deferred informer source', () => {
  test('is empty until it is bound, and then calls the handlers for existing objects', async () => {
    cached.put('a', 'x');
    const deferred = new DeferredInformerSource();
    const things = { group: 'example.com', version: 'v1', resource: 'things' };
    const informer = deferred.informer(things);
    const events: string[] = [];
    informer.addHandlers({ added: (_object, at) => events.push(keyOf(at)), synced: () => events.push('synced') });
    const stop = informer.addHandlers({ synced: () => events.push('stopped') });
    const stopLater = informer.addHandlers({ added: (_object, at) => events.push(`later ${keyOf(at)}`) });
    stop();
    expect([informer.get(reference('a', 'x')), informer.list()]).toEqual([undefined, []]);
    deferred.bind({ informer: () => cached as never });
    await informer.synced;
    expect(events).toEqual(['a/x', 'synced', 'later a/x']);
    expect(informer.get(reference('a', 'x'))).toBe(cached.get(reference('a', 'x')));
    stopLater();
    cached.put('b', 'x');
    expect(events.slice(3)).toEqual(['b/x']);
    expect(deferred.informer(things)).toBe(informer);
    expect(() => deferred.bind({ informer: () => cached as never })).toThrow('already');
  });
});
