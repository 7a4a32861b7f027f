import { isStatusError, type DeepReadonly } from '@multiplane/apimachinery';
import {
  apiBindings,
  formatLocks,
  parseLocks,
  resourceBindingsAnnotation,
  type APIBinding,
  type ResourceLocks,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { isEstablished, crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { ResourceLockKeeper } from './resource-lock-keeper.ts';

/** Who makes the bindings of a new logical cluster, after their locks. */
const bindingInitializer = 'system:apibindings';

/**
 * Keeps the locks on names of resources true (C5.15): every LogicalCluster has the annotation, what a binding held goes
 * with the binding, a definition that is established holds its name, and one that is gone, or did not come in time, does
 * not. What an event brings is judged on the spot; only what is not right is queued.
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
  const judge = (object: DeepReadonly<LogicalCluster>, reference: ObjectReference): void => {
    // What is being emptied loses binding after binding, and its locks with the last of them.
    if (object.metadata.deletionTimestamp !== undefined) return;
    if (!isRight(object, reference)) controller.queue.add(keyOf(reference));
  };
  clusters.addHandlers({
    added: judge,
    updated: (object, _old, reference) => judge(object, reference),
  });
  const touched = ({ cluster }: ObjectReference): void => {
    const reference = { cluster, namespace: '', name: logicalClusterObjectName };
    const object = clusters.get(reference);
    if (object !== undefined) judge(object, reference);
  };
  bindings.addHandlers({ deleted: (_old, reference) => touched(reference) });
  definitions.addHandlers({
    added: (_definition, reference) => touched(reference),
    updated: (definition, old, reference) => {
      if (isEstablished(definition) !== isEstablished(old)) touched(reference);
    },
    deleted: (_old, reference) => touched(reference),
  });

  function isRight(object: DeepReadonly<LogicalCluster>, reference: ObjectReference): boolean {
    // Of one that goes everything goes; nobody gets a name in it any more.
    if (object.metadata.deletionTimestamp !== undefined) return true;
    const text = object.metadata.annotations?.[resourceBindingsAnnotation];
    if (text === undefined || text === '') return false;
    const locks = parseLocks(text);
    const next = correct(locks, object, reference);
    return next === undefined && formatLocks(locks) === text;
  }

  /** Returns when to look again. */
  function correct(
    locks: ResourceLocks,
    object: DeepReadonly<LogicalCluster>,
    { cluster }: ObjectReference,
  ): number | undefined {
    const { phase = 'Scheduling', initializers = [] } = object.status ?? {};
    const bindingsComeLater = phase === 'Scheduling' || initializers.includes(bindingInitializer);
    const own = keeper.definitions(cluster);
    let next: number | undefined;
    for (const [name, { n, c, e }] of locks) {
      if (n !== undefined) {
        if (bindingsComeLater || bindings.get({ cluster, namespace: '', name: n }) !== undefined) continue;
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

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
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
