import {
  clusterAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, ObjectReference } from '@multiplane/client';

/** FOR TESTS: an informer over objects that a test puts into it; each object names its logical cluster. */
export class FakeInformer<T extends KubeObject> implements Informer<T> {
  synced = Promise.resolve();
  readonly #objects = new Map<string, T>();
  readonly #handlers = new Set<InformerHandlers<T>>();

  constructor(...objects: readonly T[]) {
    for (const object of objects) this.put(object);
  }

  put(object: T): void {
    const reference = referenceOf(object);
    const key = keyOf(reference);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const handlers of this.#handlers)
      if (old === undefined) handlers.added?.(object as DeepReadonly<T>, reference);
      else handlers.updated?.(object as DeepReadonly<T>, old as DeepReadonly<T>, reference);
  }

  remove(object: T): void {
    const reference = referenceOf(object);
    const old = this.#objects.get(keyOf(reference));
    if (old === undefined) return;
    this.#objects.delete(keyOf(reference));
    for (const handlers of this.#handlers) handlers.deleted?.(old as DeepReadonly<T>, reference);
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.#objects.get(keyOf(reference)) as DeepReadonly<T> | undefined;
  }

  list(scope: { readonly cluster?: LogicalClusterName | undefined } = {}): DeepReadonly<T>[] {
    return [...this.#objects.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object as DeepReadonly<T>)
      .filter(
        (object) => scope.cluster === undefined || object.metadata.annotations?.[clusterAnnotation] === scope.cluster,
      );
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    this.#handlers.add(handlers);
    for (const object of this.#objects.values()) handlers.added?.(object as DeepReadonly<T>, referenceOf(object));
    handlers.synced?.();
    return () => void this.#handlers.delete(handlers);
  }
}

const keyOf = ({ cluster, name }: ObjectReference): string => `${cluster}/${name}`;

function referenceOf({ metadata }: KubeObject): ObjectReference {
  const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
  return { cluster, namespace: '', name: metadata.name ?? '' };
}
