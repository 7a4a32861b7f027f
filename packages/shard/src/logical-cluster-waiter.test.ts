import { beforeEach, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '@multiplane/client';
import { FakeClock } from '@multiplane/component-base';
import type { LogicalCluster } from '@multiplane/controllers';
import { LogicalClusterWaits } from './logical-cluster-waits.ts';

/** The logical clusters of a shard as a test makes them. */
class Clusters {
  readonly #objects = new Map<string, LogicalCluster>();
  #handlers: InformerHandlers = {};

  readonly source: InformerSource = {
    informer: <T extends KubeObject>() =>
      ({
        synced: Promise.resolve(),
        get: ({ cluster }: ObjectReference) => this.#objects.get(cluster),
        list: () => [...this.#objects.values()],
        addHandlers: (handlers: InformerHandlers) => {
          this.#handlers = handlers;
          return () => undefined;
        },
      }) as unknown as Informer<T>,
  };

  put(cluster: LogicalClusterName, phase: string): void {
    const old = this.#objects.get(cluster);
    const object = { metadata: { name: 'cluster' }, status: { phase } } as LogicalCluster;
    this.#objects.set(cluster, object);
    const reference = { cluster, namespace: '', name: 'cluster' };
    if (old === undefined) this.#handlers.added?.(object, reference);
    else this.#handlers.updated?.(object, old, reference);
  }
  remove(cluster: LogicalClusterName): void {
    const old = this.#objects.get(cluster) as LogicalCluster;
    this.#objects.delete(cluster);
    this.#handlers.deleted?.(old, { cluster, namespace: '', name: 'cluster' });
  }
}

const a = 'a' as LogicalClusterName;
const b = 'b' as LogicalClusterName;
let clusters: Clusters;
let clock: FakeClock;
let waits: LogicalClusterWaits;
beforeEach(() => {
  clusters = new Clusters();
  clock = new FakeClock();
  waits = new LogicalClusterWaits({ informers: clusters.source, clock });
});
const ready = (cluster: LogicalClusterName, signal?: AbortSignal) =>
  waits.until(cluster, ({ status }) => status?.phase === 'Ready', 1000, signal);
const phase = (object: Awaited<ReturnType<typeof ready>>): string | undefined => object?.status?.phase;

test('what is there already is not waited for', async () => {
  clusters.put(a, 'Ready');
  expect(phase(await ready(a))).toBe('Ready');
});

test('everybody who waits is told when it is what they want, and nothing is left behind', async () => {
  const waiting = [ready(a), ready(a), ready(b)];
  clusters.put(a, 'Scheduling');
  clusters.put(b, 'Ready');
  clusters.put(a, 'Ready');
  expect((await Promise.all(waiting)).map(phase)).toEqual(['Ready', 'Ready', 'Ready']);
  expect(clock.timers).toBe(0);
});

test('one that goes is not waited for any longer', async () => {
  clusters.put(a, 'Scheduling');
  const waiting = ready(a);
  clusters.remove(a);
  expect(await waiting).toBeUndefined();
});

test('nobody waits longer than they want', async () => {
  const waiting = ready(a);
  await clock.advance(1000);
  expect(await waiting).toBeUndefined();
});

test('nobody is waited for who has gone', async () => {
  const client = new AbortController();
  const waiting = ready(a, client.signal);
  client.abort();
  expect(await waiting).toBeUndefined();
  expect(await ready(a, client.signal)).toBeUndefined();
  expect(clock.timers).toBe(0);
});
