import { isJsonObject, type DeepReadonly, type GroupResource, type KubeObject } from '@multiplane/apimachinery';
import { resourceBindingsAnnotation } from './api-sharing.ts';

/** Who has the name of a resource in a logical cluster: a binding by its name, or a definition. */
export interface ResourceLock {
  /** Name of the APIBinding. */
  readonly n?: string;
  /** A CustomResourceDefinition of the logical cluster itself. */
  readonly c?: boolean;
  /** When the lock of a definition that is not there yet is over (RFC 3339). */
  readonly e?: string;
}
/** By {@link lockName}. */
export type ResourceLocks = Map<string, ResourceLock>;

/** `<resource>.<group>`, of the core group `<resource>`. */
export const lockName = ({ group, resource }: GroupResource): string =>
  group === '' ? resource : `${resource}.${group}`;

/** Reads the annotation of a LogicalCluster; one that says nothing, or nothing that can be understood, holds no locks. */
export function parseLocks(annotation: string | undefined): ResourceLocks {
  const locks: ResourceLocks = new Map();
  let value: unknown;
  try {
    value = JSON.parse(annotation ?? '');
  } catch {
    return locks;
  }
  if (!isJsonObject(value)) return locks;
  for (const [name, entry] of Object.entries(value)) {
    if (!isJsonObject(entry)) continue;
    const { n, c, e } = entry;
    const lock: { n?: string; c?: boolean; e?: string } = {};
    if (typeof n === 'string' && n !== '') lock.n = n;
    if (c === true) lock.c = true;
    if (typeof e === 'string' && e !== '') lock.e = e;
    locks.set(name, lock);
  }
  return locks;
}

const read = new WeakMap<object, ReadonlyMap<string, ResourceLock>>();

/** The locks that the metadata of a version of a LogicalCluster names; parsed once per version. */
export function locksOf(logicalCluster: DeepReadonly<KubeObject> | undefined): ReadonlyMap<string, ResourceLock> {
  if (logicalCluster === undefined) return noLocks;
  const { metadata } = logicalCluster;
  let locks = read.get(metadata);
  if (locks === undefined) {
    const text = metadata.annotations?.[resourceBindingsAnnotation];
    locks = text === undefined || text === '' ? noLocks : parseLocks(text);
    read.set(metadata, locks);
  }
  return locks;
}

/** Another version names the same locks: they need not be read again. */
export function keepLocks(old: DeepReadonly<KubeObject>, now: DeepReadonly<KubeObject>): void {
  const locks = read.get(old.metadata);
  if (locks !== undefined) read.set(now.metadata, locks);
}

const noLocks: ReadonlyMap<string, ResourceLock> = new Map();

/** The annotation, by name: equal locks are equal texts. `{}` when there are none. Written for every binding of every pass. */
export function formatLocks(locks: ReadonlyMap<string, ResourceLock>): string {
  const entries = [...locks.keys()].sort().map((name) => `${JSON.stringify(name)}:${lockText(locks.get(name))}`);
  return `{${entries.join(',')}}`;
}

/** Nearly all locks are those of definitions that are there. */
const lockText = (lock: ResourceLock | undefined): string =>
  lock?.c === true && lock.n === undefined && lock.e === undefined ? '{"c":true}' : JSON.stringify(lock);
