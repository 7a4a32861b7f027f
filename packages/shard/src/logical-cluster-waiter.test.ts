import { beforeEach, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '@multiplane/client';
import type { LogicalCluster } from '@multiplane/controllers';
import { LogicalClusterWaiter } from './logical-cluster-waiter.ts';
import { FakeClock } from '@multiplane/testing';

/** An informer of logical clusters that the test controls. */
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
let waits: LogicalClusterWaiter;
beforeEach(() => {
  clusters = new Clusters();
  clock = new FakeClock();
  waits = new LogicalClusterWaiter({ informers: clusters.source, clock });
});
const ready = (cluster: LogicalClusterName, signal?: AbortSignal) =>
  waits.until(cluster, ({ status }) => status?.phase === 'Ready', 1000, signal);
const phase = (object: Awaited<ReturnType<typeof ready>>): string | undefined => object?.status?.phase;

test('returns an object that already meets the condition', async () => {
  clusters.put(a, 'Ready');
  expect(phase(await ready(a))).toBe('Ready');
});

test('resolves all waiters when the object meets their condition, and leaves no state behind', async () => {
  const waiting = [ready(a), ready(a), ready(b)];
  clusters.put(a, 'Scheduling');
  clusters.put(b, 'Ready');
  clusters.put(a, 'Ready');
  expect((await Promise.all(waiting)).map(phase)).toEqual(['Ready', 'Ready', 'Ready']);
  expect(clock.timers).toBe(0);
});

test('resolves with undefined when the object is deleted', async () => {
  clusters.put(a, 'Scheduling');
  const waiting = ready(a);
  clusters.remove(a);
  expect(await waiting).toBeUndefined();
});

test('resolves with undefined after the timeout', async () => {
  const waiting = ready(a);
  await clock.advance(1000);
  expect(await waiting).toBeUndefined();
});

test('resolves with undefined when the signal aborts', async () => {
  const client = new AbortController();
  const waiting = ready(a, client.signal);
  client.abort();
  expect(await waiting).toBeUndefined();
  expect(await ready(a, client.signal)).toBeUndefined();
  expect(clock.timers).toBe(0);
});
