import { pathAnnotation, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '../lister.ts';

/** Several objects answer to one path and name: whose is meant cannot be told (C5.0). */
export class AmbiguousPathError extends Error {
  override readonly name = 'AmbiguousPathError';
}

/** Finds objects by where they live, as people write it: a workspace's path or the name of its logical cluster, and a name. */
export interface PathAndNameLookup<T extends KubeObject = KubeObject> {
  /** Resolves when everything that was there at the beginning can be found. */
  readonly synced: Promise<void>;
  /** Throws {@link AmbiguousPathError}. */
  byPathAndName(path: string, name: string): DeepReadonly<T> | undefined;
}

const keyOf = (path: string, name: string): string => `${path}|${name}`;

/**
 * An index over an informer by canonical path (annotation `kcp.io/path`) and by logical cluster, each with the name. Holds
 * references only; the object is read from the informer when it is asked for.
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
        `${references.size} objects ${name} are found under ${path}: in ${[...references.values()].map(({ cluster }) => cluster).join(', ')}`,
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
