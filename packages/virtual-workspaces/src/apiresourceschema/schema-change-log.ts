import { deepEqual, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { APIBinding, APIExport, APIResourceSchema } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';

/** Something that may change which schemas somebody sees: a binding there, or an export or schema elsewhere. */
export interface SchemaChange {
  readonly what: 'binding' | 'provider';
  readonly cluster: string;
}

export interface SchemaChangesOptions {
  /** Changes that are remembered. */
  readonly maxRemembered?: number | undefined;
}

export interface SchemaChangesModules {
  readonly bindings: Informer<APIBinding>;
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  readonly now: () => number;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

const defaultRemembered = 4_096;
/** The part of a version that tells servers apart. */
const tagSize = 4_096;

/**
 * Versions of what the views of bound schemas show. The objects come from many shards, whose own versions cannot be
 * compared; so changes are counted here, one count for all views of a server.
 *
 * A version is the count and a tag of this server: one from another server, or from before a restart, is not known, and
 * neither is one before the changes that are remembered. Who comes with such a version lists again. Counting begins at
 * the time of the start, so that versions of one address rise.
 */
export class SchemaChanges {
  readonly #maxRemembered: number;
  readonly #tag: number;
  #count: number;
  readonly #remembered: SchemaChange[] = [];
  readonly #listeners = new Set<(change: SchemaChange) => void>();
  #waitsFor = 3;

  constructor(options: SchemaChangesOptions, modules: SchemaChangesModules) {
    this.#maxRemembered = options.maxRemembered ?? defaultRemembered;
    this.#tag = Math.floor(modules.random() * tagSize);
    this.#count = Math.floor(modules.now());
    this.#follow(modules.bindings, 'binding', sameBinding);
    this.#follow(modules.exports, 'provider', sameExport);
    this.#follow(modules.schemas, 'provider', sameSchema);
  }

  get version(): number {
    return this.#count * tagSize + this.#tag;
  }

  /** What happened after a version; undefined when that cannot be told. */
  since(version: number): readonly SchemaChange[] | undefined {
    if (version % tagSize !== this.#tag) return undefined;
    const behind = this.#count - Math.floor(version / tagSize);
    if (behind < 0 || behind > this.#remembered.length) return undefined;
    return behind === 0 ? [] : this.#remembered.slice(-behind);
  }

  /** Call the result to stop. */
  subscribe(listener: (change: SchemaChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #follow<T extends KubeObject>(
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
      synced: () => (this.#waitsFor -= 1),
    });
  }

  #changed(change: SchemaChange): void {
    // What was there at the beginning nobody has seen otherwise.
    if (this.#waitsFor > 0) return;
    this.#count += 1;
    this.#remembered.push(change);
    // By half, so that the list is not moved at every change.
    if (this.#remembered.length >= 2 * this.#maxRemembered) this.#remembered.splice(0, this.#maxRemembered);
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
