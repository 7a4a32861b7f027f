import { pathAnnotation, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '../lister.ts';

/** Several objects have the same path and name, so that the reference is ambiguous. */
export class AmbiguousPathError extends Error {
  override readonly name = 'AmbiguousPathError';
}

/** Finds objects by a workspace path or logical cluster name, and an object name. */
export interface PathAndNameLookup<T extends KubeObject = KubeObject> {
  /** Resolves once the initial list is indexed. */
  readonly synced: Promise<void>;
  /** Throws {@link AmbiguousPathError}. */
  byPathAndName(path: string, name: string): DeepReadonly<T> | undefined;
}

const keyOf = (path: string, name: string): string => `${path}|${name}`;

/**
 * An informer index by canonical path (annotation `kcp.io/path`) and by logical cluster name, each with the object name; as
 * kcp's `ByLogicalClusterPathAndName`. Holds references only; objects are read from the informer.
 */
export class PathAndNameIndex<T extends KubeObject = KubeObject> implements PathAndNameLookup<T> {
  readonly synced: Promise<void>;
  readonly #informer: Informer<T>;
  /** Key → references by `cluster/namespace`. */
  readonly #references = new Map<string, Map<string, ObjectReference>>();

  constructor(modules: { readonly informer: Informer<T> }) {
    this.#informer = modules.informer;
    const synced = Promise.withResolvers<void>();
    this.synced = synced.promise;
    this.#informer.addHandlers({
      added: (object, reference) => this.#add(object, reference),
      updated: (object, old, reference) => {
        if (pathOf(object) === pathOf(old)) return;
        this.#delete(old, reference);
        this.#add(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
      synced: () => synced.resolve(),
    });
  }

  byPathAndName(path: string, name: string): DeepReadonly<T> | undefined {
    const references = this.#references.get(keyOf(path, name));
    if (references === undefined) return undefined;
    if (references.size > 1)
      throw new AmbiguousPathError(
        `multiple objects found for ${path}:${name} in logical clusters ${[...references.values()].map(({ cluster }) => cluster).join(', ')}`,
      );
    const [reference] = references.values();
    return reference === undefined ? undefined : this.#informer.get(reference);
  }

  #add(object: DeepReadonly<T>, reference: ObjectReference): void {
    for (const key of keysOf(object, reference)) {
      let references = this.#references.get(key);
      if (references === undefined) {
        references = new Map();
        this.#references.set(key, references);
      }
      references.set(`${reference.cluster}/${reference.namespace}`, reference);
    }
  }

  #delete(object: DeepReadonly<T>, reference: ObjectReference): void {
    for (const key of keysOf(object, reference)) {
      const references = this.#references.get(key);
      references?.delete(`${reference.cluster}/${reference.namespace}`);
      if (references?.size === 0) this.#references.delete(key);
    }
  }
}

const pathOf = (object: DeepReadonly<KubeObject>): string | undefined => object.metadata.annotations?.[pathAnnotation];

function keysOf(object: DeepReadonly<KubeObject>, { cluster, name }: ObjectReference): Set<string> {
  const path = pathOf(object);
  return new Set(
    path === undefined || path === '' ? [keyOf(cluster, name)] : [keyOf(cluster, name), keyOf(path, name)],
  );
}
