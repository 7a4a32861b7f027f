import { beforeEach, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerHandlers, ObjectReference } from '@multiplane/client';
import { eventLoopIdle, turnsDuring } from '@multiplane/testing';
import { OwnerIndex } from './owner-index.ts';
import { UnitedObjects, type SourceInformer } from './united-objects.ts';

const at = (name: string): ObjectReference => ({ cluster: 'one' as LogicalClusterName, namespace: 'n', name });

/** The informer of a shard that the test plays. */
class Shard implements SourceInformer<KubeObject> {
  readonly #objects = new Map<string, KubeObject>();
  #handlers: InformerHandlers = {};
  get(reference: ObjectReference): KubeObject | undefined {
    return this.#objects.get(reference.name);
  }
  list(): KubeObject[] {
    return [...this.#objects.values()];
  }
  get size(): number {
    return this.#objects.size;
  }
  *entries(): Generator<{ object: KubeObject; reference: ObjectReference }> {
    for (const [name, object] of this.#objects) yield { object, reference: at(name) };
  }
  addHandlers(handlers: InformerHandlers): () => void {
    this.#handlers = handlers;
    return () => (this.#handlers = {});
  }
  put(name: string, resourceVersion: string, owners: readonly string[] = []): void {
    const old = this.#objects.get(name);
    const ownerReferences = owners.map((uid) => ({ apiVersion: 'v1', kind: 'Owner', name: uid, uid }));
    const metadata = {
      name,
      namespace: 'n',
      resourceVersion,
      ownerReferences,
      annotations: { 'kcp.io/cluster': 'one' },
    };
    const object: KubeObject = { apiVersion: 'v1', kind: 'Thing', metadata };
    this.#objects.set(name, object);
    if (old === undefined) this.#handlers.added?.(object, at(name));
    else this.#handlers.updated?.(object, old, at(name));
  }
  remove(name: string): void {
    const old = this.#objects.get(name) as KubeObject;
    this.#objects.delete(name);
    this.#handlers.deleted?.(old, at(name));
  }
}

let east: Shard;
let west: Shard;
let united: UnitedObjects<KubeObject, Shard>;
let events: string[];
beforeEach(async () => {
  east = new Shard();
  west = new Shard();
  united = new UnitedObjects();
  events = [];
  united.add(east, east);
  united.add(west, west);
  united.addHandlers({
    changed: ({ metadata }, _old, { name }) => events.push(`changed ${name} ${metadata.resourceVersion}`),
    deleted: (_old, { name }) => events.push(`deleted ${name}`),
    forgotten: (_old, { name }) => events.push(`forgotten ${name}`),
  });
  // The report of what there is takes time slices.
  await eventLoopIdle();
});

test('a move in either direction is a change and never a deletion', () => {
  west.put('x', 'w1');
  east.put('x', 'e1');
  expect(united.find(at('x'))?.source).toBe(east);
  // The old shard has it for a while, and reports what no longer counts.
  west.put('x', 'w2');
  west.remove('x');
  west.put('x', 'w3');
  expect(united.find(at('x'))?.source).toBe(west);
  east.remove('x');
  expect(united.find(at('x'))?.source).toBe(west);
  west.remove('x');
  expect(events).toEqual(['changed x w1', 'changed x e1', 'changed x e1', 'changed x w3', 'changed x w3', 'deleted x']);
});

test('lists an object that two sources have once', () => {
  east.put('x', 'e1');
  west.put('x', 'w1');
  west.put('y', 'w2');
  expect(united.list().map(({ metadata }) => metadata.resourceVersion)).toEqual(['w1', 'w2']);
  expect(united.size).toBe(2);
});

test('objects of a removed source are forgotten, unless another one has them', async () => {
  east.put('x', 'e1');
  east.put('y', 'e2');
  west.put('y', 'w1');
  events = [];
  await united.remove(east);
  expect(events).toEqual(['forgotten x', 'changed y w1']);
  expect(united.get(at('x'))).toBeUndefined();
});

test('the index of owners follows objects over moves and changes of owners', () => {
  const index = new OwnerIndex();
  united.addHandlers(index);
  const owned = (uid: string): string[] => [...index.of(uid)].map(({ name }) => name);
  west.put('x', 'w1', ['u1']);
  east.put('x', 'e1', ['u1']);
  west.remove('x');
  expect(owned('u1')).toEqual(['x']);
  east.put('x', 'e2', ['u2']);
  expect([owned('u1'), owned('u2')]).toEqual([[], ['x']]);
  east.remove('x');
  expect(owned('u2')).toEqual([]);
});

test('many objects are reported, and forgotten, without holding up the event loop', async () => {
  for (let i = 0; i < 2_000; i++) east.put(`x${i}`, 'e1');
  let forgotten = 0;
  const report = await turnsDuring(
    () =>
      new Promise<void>((resolve) => {
        let reported = 0;
        united.addHandlers({
          changed: () => {
            if (++reported === 2_000) resolve();
          },
          forgotten: () => void forgotten++,
        });
      }),
  );
  expect(report.turns).toBeGreaterThan(100);
  expect((await turnsDuring(() => united.remove(east))).turns).toBeGreaterThan(100);
  expect(forgotten).toBe(2_000);
});
