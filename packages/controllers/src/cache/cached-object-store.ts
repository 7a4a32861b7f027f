import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import type { ReplicatedKind } from './replicated-kinds.ts';

/** The cached object has changed since it was read; the change is about to be observed. */
export class CachedObjectConflictError extends Error {
  override readonly name = 'CachedObjectConflictError';
}

/** A cached object as it was read: the precondition of a write. */
export interface KnownCachedObject {
  readonly revision: number;
}

/** The cached objects of one shard. */
export interface CachedObjectStore {
  /** Resolves when all cached objects of the shard are known. */
  readonly synced: Promise<void>;

  /**
   * Calls the listener for every cached object of the initial list and for every later change or deletion by another
   * writer, not for own writes. One listener.
   */
  onChange(listener: (kind: ReplicatedKind, reference: ObjectReference, isInInitialList: boolean) => void): void;

  get(kind: ReplicatedKind, reference: ObjectReference): KnownCachedObject | undefined;

  /** Whether {@link put} would not change the cached object. */
  equals(known: KnownCachedObject, object: DeepReadonly<KubeObject>): boolean;

  /**
   * Writes a cached object if it is still `known`; undefined: if it does not exist. Throws
   * {@link CachedObjectConflictError}.
   */
  put(
    kind: ReplicatedKind,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
    known: KnownCachedObject | undefined,
  ): Promise<void>;

  /**
   * Starts to follow the objects of a kind beyond the fixed ones; resolves when they are known. Opening a kind twice
   * needs closing it twice. `listener` as in {@link onChange}, for this kind alone.
   */
  open(
    kind: ReplicatedKind,
    listener: (reference: ObjectReference, isInInitialList: boolean) => void,
  ): OpenedCachedKind;

  /** Deletes a cached object if it is still `known`. Throws {@link CachedObjectConflictError}. */
  delete(kind: ReplicatedKind, reference: ObjectReference, known: KnownCachedObject): Promise<void>;
}

/** A kind that {@link CachedObjectStore.open} follows. */
export interface OpenedCachedKind {
  /** Resolves when all objects of the kind that this shard published are known. */
  readonly synced: Promise<void>;
  /** Places of the objects published for one logical cluster. */
  list(cluster: LogicalClusterName): readonly ObjectReference[];
  /** How many {@link list} has, without making them: counted several times a second while objects change. */
  count(cluster: LogicalClusterName): number;
  close(): void;
}
