import { isStatusError, type DeepReadonly } from '@multiplane/apimachinery';
import {
  apiBindings,
  formatLocks,
  locksOf,
  resourceBindingsAnnotation,
  type APIBinding,
  type ResourceLock,
  type ResourceLocks,
} from '@multiplane/apis';
import type { Lister, ObjectReference } from '@multiplane/client';
import { timeSlices, type Clock } from '@multiplane/component-base';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { ResourceLockWriter } from './resource-lock-writer.ts';

/** The initializer that creates the default bindings of a new logical cluster, whose names are locked before. */
const bindingInitializer = 'system:apibindings';

/** Logical clusters with more locks are not checked in event handlers, and are reconciled with {@link spacingMs}. */
export const largeLockCount = 50;
const spacingMs = 250;

/** Checks and corrects the locks of logical clusters. */
export class ResourceLockReconciler {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #bindings: Lister<APIBinding>;
  readonly #definitions: Lister<CustomResourceDefinition>;
  readonly #writer: ResourceLockWriter;
  readonly #clock: Clock;
  /** When large logical clusters were reconciled, oldest first; entries older than {@link spacingMs} are removed. */
  readonly #reconciledAt = new Map<string, number>();

  constructor(modules: ControllerModules) {
    const { informers, clock } = modules;
    this.#clusters = informers.informer<LogicalCluster>(logicalClusters);
    this.#bindings = informers.informer<APIBinding>(apiBindings);
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
    this.#writer = new ResourceLockWriter(modules);
    this.#clock = clock;
  }

  /** Whether a reconcile would keep this lock, or its absence, without a time limit. */
  isCorrect(
    object: DeepReadonly<LogicalCluster>,
    { cluster }: ObjectReference,
    name: string,
    lock: ResourceLock | undefined,
  ): boolean {
    if (lock?.n !== undefined)
      return areBindingsPending(object) || this.#bindings.get({ cluster, namespace: '', name: lock.n }) !== undefined;
    // The name of a CRD is the name of its lock.
    const definition = this.#definitions.get({ cluster, namespace: '', name });
    if (lock === undefined) return definition === undefined || !isEstablished(definition);
    return lock.c === true && lock.e === undefined && definition !== undefined;
  }

  /** Whether all existing locks are correct. A CRD without a lock is found by its own events. */
  areAllCorrect(object: DeepReadonly<LogicalCluster>, reference: ObjectReference): boolean {
    if (object.metadata.deletionTimestamp !== undefined) return true;
    const annotation = lockAnnotationOf(object);
    if (annotation === undefined || annotation === '') return false;
    const locks = locksOf(object);
    // Many names are held by few bindings: look each binding up once.
    const existingBindings = new Set<string>();
    for (const [name, lock] of locks) {
      if (lock.n !== undefined && existingBindings.has(lock.n)) continue;
      if (!this.isCorrect(object, reference, name, lock)) return false;
      if (lock.n !== undefined) existingBindings.add(lock.n);
    }
    return formatLocks(locks) === annotation;
  }

  async reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    if (locksOf(this.#clusters.get(reference)).size > largeLockCount) {
      const delay = this.#throttle(key);
      if (delay !== undefined) return delay;
      await this.#decodeDefinitions(reference);
    }
    const object = this.#clusters.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    let nextExpiry: number | undefined;
    try {
      await this.#writer.update(reference.cluster, (locks) => {
        nextExpiry = this.#correct(locks, object, reference);
      });
    } catch (error) {
      // The logical cluster has been deleted, with its locks.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return nextExpiry;
  }

  /** Milliseconds until a large logical cluster may be reconciled again; undefined: now. */
  #throttle(key: string): number | undefined {
    const now = this.#clock.monotonic();
    for (const [other, at] of this.#reconciledAt) {
      if (now - at < spacingMs) break;
      this.#reconciledAt.delete(other);
    }
    const last = this.#reconciledAt.get(key);
    if (last !== undefined) return last + spacingMs - now;
    this.#reconciledAt.set(key, now);
    return undefined;
  }

  /** Corrects the locks in place. Returns the milliseconds until the next lock of a missing CRD expires. */
  #correct(
    locks: ResourceLocks,
    object: DeepReadonly<LogicalCluster>,
    { cluster }: ObjectReference,
  ): number | undefined {
    const bindingsPending = areBindingsPending(object);
    const definitions = this.#writer.definitions(cluster);
    let nextExpiry: number | undefined;
    for (const [name, { n, c, e }] of locks) {
      if (n !== undefined) {
        if (bindingsPending || this.#bindings.get({ cluster, namespace: '', name: n }) !== undefined) continue;
        locks.delete(name);
      } else if (c === true && definitions.has(name)) {
        locks.set(name, { c });
      } else {
        const left = e === undefined ? 0 : Date.parse(e) - this.#clock.now();
        if (left > 0) nextExpiry = Math.min(nextExpiry ?? left, left);
        else locks.delete(name);
      }
    }
    for (const [name, established] of definitions) if (established && !locks.has(name)) locks.set(name, { c: true });
    return nextExpiry;
  }

  /** Reads large definitions in time slices, so that the later list of all of them finds them decoded. */
  async #decodeDefinitions(reference: ObjectReference): Promise<void> {
    const { cluster } = reference;
    const slices = timeSlices();
    for (const name of locksOf(this.#clusters.get(reference)).keys()) {
      this.#definitions.get({ cluster, namespace: '', name });
      if (slices.isExceeded) await slices.yield();
    }
  }
}

export const lockAnnotationOf = ({ metadata }: DeepReadonly<LogicalCluster>): string | undefined =>
  metadata.annotations?.[resourceBindingsAnnotation];

/** Whether default bindings, whose names are locked already, are still to be created. */
export function areBindingsPending({ status }: DeepReadonly<LogicalCluster>): boolean {
  const { phase = 'Scheduling', initializers = [] } = status ?? {};
  return phase === 'Scheduling' || initializers.includes(bindingInitializer);
}
