import { deepEqual, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { APIBinding, APIExport, APIResourceSchema } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';

/**
 * A change that may affect which schemas a consumer sees: of a binding in the consumer, or of an export or schema in
 * the provider.
 */
export interface SchemaChange {
  readonly what: 'binding' | 'provider';
  readonly cluster: string;
}

export interface SchemaChangeLogOptions {
  /** Number of changes that are kept. */
  readonly maxChanges?: number | undefined;
}

export interface SchemaChangeLogModules {
  readonly bindings: Informer<APIBinding>;
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  readonly now: () => number;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

const defaultMaxChanges = 4_096;
/** The part of a version that distinguishes servers. */
const tagSize = 4_096;

/**
 * Resource versions of the APIResourceSchema virtual workspace. The objects come from many shards, whose resource
 * versions are not comparable, so changes are counted here, with one counter for all consumers.
 *
 * A version consists of the counter and a random tag of this server. A version of another server, from before a
 * restart, or older than the kept changes is unknown: clients that watch from it get 410 and list again. The counter
 * starts at the time of the start, so that versions of one address increase.
 */
export class SchemaChangeLog {
  readonly #maxChanges: number;
  readonly #tag: number;
  #count: number;
  readonly #changes: SchemaChange[] = [];
  readonly #listeners = new Set<(change: SchemaChange) => void>();
  #unsynced = 3;

  constructor(options: SchemaChangeLogOptions, modules: SchemaChangeLogModules) {
    this.#maxChanges = options.maxChanges ?? defaultMaxChanges;
    this.#tag = Math.floor(modules.random() * tagSize);
    this.#count = Math.floor(modules.now());
    this.#watch(modules.bindings, 'binding', sameBinding);
    this.#watch(modules.exports, 'provider', sameExport);
    this.#watch(modules.schemas, 'provider', sameSchema);
  }

  get version(): number {
    return this.#count * tagSize + this.#tag;
  }

  /** The changes after a version; undefined if the version is unknown. */
  since(version: number): readonly SchemaChange[] | undefined {
    if (version % tagSize !== this.#tag) return undefined;
    const behind = this.#count - Math.floor(version / tagSize);
    if (behind < 0 || behind > this.#changes.length) return undefined;
    return behind === 0 ? [] : this.#changes.slice(-behind);
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: (change: SchemaChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #watch<T extends KubeObject>(
    informer: Informer<T>,
    what: SchemaChange['what'],
    same: (a: DeepReadonly<T>, b: DeepReadonly<T>) => boolean,
  ): void {
    const changed = ({ cluster }: ObjectReference): void => this.#changed({ what, cluster });
    informer.addHandlers({
      added: (_object, reference) => changed(reference),
      updated: (object, old, reference) => {
        if (!same(object, old)) changed(reference);
      },
      deleted: (_old, reference) => changed(reference),
      synced: () => (this.#unsynced -= 1),
    });
  }

  #changed(change: SchemaChange): void {
    // The initial objects are not changes: no client has seen an earlier state.
    if (this.#unsynced > 0) return;
    this.#count += 1;
    this.#changes.push(change);
    // Trimmed in bulk, so that the array is not moved at every change.
    if (this.#changes.length >= 2 * this.#maxChanges) this.#changes.splice(0, this.#maxChanges);
    for (const listener of this.#listeners) listener(change);
  }
}

const sameBinding = (a: DeepReadonly<APIBinding>, b: DeepReadonly<APIBinding>): boolean =>
  a.status?.phase === b.status?.phase &&
  a.status?.apiExportClusterName === b.status?.apiExportClusterName &&
  a.spec?.reference?.export?.name === b.spec?.reference?.export?.name;
const sameExport = (a: DeepReadonly<APIExport>, b: DeepReadonly<APIExport>): boolean =>
  deepEqual(a.spec?.resources ?? [], b.spec?.resources ?? []);
const sameSchema = (a: DeepReadonly<KubeObject>, b: DeepReadonly<KubeObject>): boolean =>
  a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
