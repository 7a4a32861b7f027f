import { isStatusError, type DeepReadonly } from '@multiplane/apimachinery';
import {
  apiBindings,
  formatLocks,
  keepLocks,
  lockName,
  locksOf,
  resourceBindingsAnnotation,
  type APIBinding,
  type ResourceLock,
  type ResourceLocks,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { slicesOfTurns } from '@multiplane/component-base';
import { isEstablished, crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { ResourceLockKeeper } from './resource-lock-keeper.ts';

/** Who makes the bindings of a new logical cluster, after their locks. */
const bindingInitializer = 'system:apibindings';

/** More locks than that are not looked at on the spot, nor for every change. */
const manyLocks = 50;
const spacingMs = 250;

/**
 * Keeps the locks on names of resources true (C5.15): every LogicalCluster has the annotation, what a binding held goes
 * with the binding, a definition that is established holds its name, and one that is gone, or did not come in time, does
 * not. What an event brings is judged on the spot, name by name; only what is not right is queued. All names are looked
 * at only where a logical cluster comes in sight or leaves a phase, and when something is queued. Where there are very
 * many, what is not right is made right a few times a second, all at once: each pass costs as much as there are locks.
 *
 * Unlike in the reference, a name that a definition held is free when the definition is gone, not never.
 */
export function resourceLockController(modules: ControllerModules): Controller {
  const { informers, clock } = modules;
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const keeper = new ResourceLockKeeper(modules);
  const controller: Controller = new Controller({ name: 'resource-locks', reconcile }, modules);
  /** When the locks of logical clusters that have very many were looked at, the latest last; forgotten soon. */
  const lookedAt = new Map<string, number>();
  const judge = (object: DeepReadonly<LogicalCluster>, reference: ObjectReference): void => {
    // What is being emptied loses binding after binding, and its locks with the last of them.
    if (object.metadata.deletionTimestamp !== undefined) return;
    if (locksOf(object).size > manyLocks || !isRight(object, reference)) controller.queue.add(keyOf(reference));
  };
  clusters.addHandlers({
    added: judge,
    updated: (object, old, reference) => {
      if (textOf(object) === textOf(old)) {
        keepLocks(old, object);
        if (bindingsComeLater(object) !== bindingsComeLater(old)) judge(object, reference);
        return;
      }
      const [before, now] = [locksOf(old), locksOf(object)];
      const changed = [...now.keys()].filter((name) => !isSame(before.get(name), now.get(name)));
      for (const name of before.keys()) if (!now.has(name)) changed.push(name);
      const isWell = formatLocks(now) === textOf(object);
      if (!isWell || bindingsComeLater(object) !== bindingsComeLater(old)) judge(object, reference);
      else judgeNames(object, reference, changed);
    },
  });
  const referenceIn = ({ cluster }: ObjectReference): ObjectReference => ({
    cluster,
    namespace: '',
    name: logicalClusterObjectName,
  });
  const touched = (where: ObjectReference, name: string): void => {
    const reference = referenceIn(where);
    const object = clusters.get(reference);
    if (object !== undefined) judgeNames(object, reference, [name]);
  };
  bindings.addHandlers({
    deleted: (_old, where) => {
      const reference = referenceIn(where);
      const object = clusters.get(reference);
      if (object !== undefined) judge(object, reference);
    },
  });
  definitions.addHandlers({
    added: (definition, reference) => touched(reference, lockNameOf(definition)),
    updated: (definition, old, reference) => {
      if (isEstablished(definition) !== isEstablished(old)) touched(reference, lockNameOf(definition));
    },
    deleted: (old, reference) => touched(reference, lockNameOf(old)),
  });

  /** Queues a logical cluster where the lock of one of these names is not right; the others are as they were judged. */
  function judgeNames(
    object: DeepReadonly<LogicalCluster>,
    reference: ObjectReference,
    names: readonly string[],
  ): void {
    if (object.metadata.deletionTimestamp !== undefined) return;
    const text = textOf(object);
    const locks = locksOf(object);
    const isGood = (name: string): boolean => isNameRight(object, reference, name, locks.get(name));
    if (text === undefined || text === '' || !names.every(isGood)) controller.queue.add(keyOf(reference));
  }

  /** What {@link correct} would leave as it is, and for good. */
  function isNameRight(
    object: DeepReadonly<LogicalCluster>,
    { cluster }: ObjectReference,
    name: string,
    lock: ResourceLock | undefined,
  ): boolean {
    if (lock?.n !== undefined)
      return bindingsComeLater(object) || bindings.get({ cluster, namespace: '', name: lock.n }) !== undefined;
    // A definition is called as its lock is.
    const definition = definitions.get({ cluster, namespace: '', name });
    if (lock === undefined) return definition === undefined || !isEstablished(definition);
    return lock.c === true && lock.e === undefined && definition !== undefined;
  }

  /** Of the locks that there are; a definition that has none is judged by its own events. */
  function isRight(object: DeepReadonly<LogicalCluster>, reference: ObjectReference): boolean {
    // Of one that goes everything goes; nobody gets a name in it any more.
    if (object.metadata.deletionTimestamp !== undefined) return true;
    const text = textOf(object);
    if (text === undefined || text === '') return false;
    const locks = locksOf(object);
    // Most names are held by few bindings.
    const held = new Set<string>();
    for (const [name, lock] of locks) {
      if (lock.n !== undefined && held.has(lock.n)) continue;
      if (!isNameRight(object, reference, name, lock)) return false;
      if (lock.n !== undefined) held.add(lock.n);
    }
    return formatLocks(locks) === text;
  }

  /** Returns when to look again. */
  function correct(
    locks: ResourceLocks,
    object: DeepReadonly<LogicalCluster>,
    { cluster }: ObjectReference,
  ): number | undefined {
    const areBindingsAwaited = bindingsComeLater(object);
    const own = keeper.definitions(cluster);
    let next: number | undefined;
    for (const [name, { n, c, e }] of locks) {
      if (n !== undefined) {
        if (areBindingsAwaited || bindings.get({ cluster, namespace: '', name: n }) !== undefined) continue;
        locks.delete(name);
      } else if (c === true && own.has(name)) {
        locks.set(name, { c });
      } else {
        const left = e === undefined ? 0 : Date.parse(e) - clock.now();
        if (left > 0) next = Math.min(next ?? left, left);
        else locks.delete(name);
      }
    }
    for (const [name, established] of own) if (established && !locks.has(name)) locks.set(name, { c: true });
    return next;
  }

  /** Definitions may be large: all of them are looked at in one turn only after each was read in its own. */
  async function lookAtDefinitions(reference: ObjectReference): Promise<void> {
    const { cluster } = reference;
    const slices = slicesOfTurns();
    for (const name of locksOf(clusters.get(reference)).keys()) {
      definitions.get({ cluster, namespace: '', name });
      if (slices.over) await slices.next();
    }
  }

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    if (locksOf(clusters.get(reference)).size > manyLocks) {
      const now = clock.monotonic();
      for (const [other, at] of lookedAt) {
        if (now - at < spacingMs) break;
        lookedAt.delete(other);
      }
      const last = lookedAt.get(key);
      if (last !== undefined) return last + spacingMs - now;
      lookedAt.set(key, now);
      await lookAtDefinitions(reference);
    }
    const object = clusters.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    let next: number | undefined;
    try {
      await keeper.change(reference.cluster, (locks) => {
        next = correct(locks, object, reference);
      });
    } catch (error) {
      // The logical cluster went meanwhile, and its locks with it.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return next;
  }
  return controller;
}

const textOf = ({ metadata }: DeepReadonly<LogicalCluster>): string | undefined =>
  metadata.annotations?.[resourceBindingsAnnotation];

const lockNameOf = ({ spec }: DeepReadonly<CustomResourceDefinition>): string =>
  lockName({ group: spec.group, resource: spec.names.plural });

const isSame = (one: ResourceLock | undefined, other: ResourceLock | undefined): boolean =>
  one === other || (one?.n === other?.n && one?.c === other?.c && one?.e === other?.e);

/** Bindings that are locked for already are still to be made. */
function bindingsComeLater({ status }: DeepReadonly<LogicalCluster>): boolean {
  const { phase = 'Scheduling', initializers = [] } = status ?? {};
  return phase === 'Scheduling' || initializers.includes(bindingInitializer);
}
