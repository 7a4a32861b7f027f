import { pathAnnotation, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';
import { exportKey, type ExportReference } from './export-reference.ts';

const noKeys: ReadonlySet<string> = new Set();

/**
 * Index of objects by the APIExport they refer to, in the words of the reference, so that an export finds the objects
 * that were created before it. Holds keys only.
 */
export class ExportReferenceIndex<T extends KubeObject> {
  readonly #referenceIn: (object: DeepReadonly<T>) => ExportReference;
  readonly #keys = new Map<string, Set<string>>();
  readonly #synced = Promise.withResolvers<void>();
  /** Resolves when the initial list of the informer is indexed. */
  readonly synced: Promise<void> = this.#synced.promise;
  #hasSynced = false;

  constructor(
    options: { readonly referenceIn: (object: DeepReadonly<T>) => ExportReference },
    modules: { readonly informer: Informer<T> },
  ) {
    this.#referenceIn = options.referenceIn;
    modules.informer.addHandlers({
      added: (object, reference) => this.#set(object, reference),
      updated: (object, old, reference) => {
        const { cluster } = reference;
        if (exportKey(this.#referenceIn(object), cluster) === exportKey(this.#referenceIn(old), cluster)) return;
        this.#delete(old, reference);
        this.#set(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
      synced: () => {
        this.#hasSynced = true;
        this.#synced.resolve();
      },
    });
  }

  /** Before, a result of {@link of} may lack objects. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Keys ({@link keyOf}) of the objects that refer to an export, by its logical cluster or by its path. */
  of(object: DeepReadonly<APIExport>, { cluster, name }: ObjectReference): ReadonlySet<string> {
    const path = object.metadata.annotations?.[pathAnnotation] ?? '';
    const byCluster = this.#keys.get(`${cluster}|${name}`);
    const byPath = path === '' || path === cluster ? undefined : this.#keys.get(`${path}|${name}`);
    if (byCluster === undefined || byPath === undefined) return byCluster ?? byPath ?? noKeys;
    return new Set([...byCluster, ...byPath]);
  }

  #set(object: DeepReadonly<T>, reference: ObjectReference): void {
    const key = exportKey(this.#referenceIn(object), reference.cluster);
    const keys = this.#keys.get(key);
    if (keys === undefined) this.#keys.set(key, new Set([keyOf(reference)]));
    else keys.add(keyOf(reference));
  }

  #delete(object: DeepReadonly<T>, reference: ObjectReference): void {
    const key = exportKey(this.#referenceIn(object), reference.cluster);
    const keys = this.#keys.get(key);
    if (keys?.delete(keyOf(reference)) === true && keys.size === 0) this.#keys.delete(key);
  }
}
