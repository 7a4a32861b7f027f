import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '@multiplane/client';

/** Logical clusters whose configurations are kept ready. */
const maxReady = 1024;

/**
 * Configurations of one kind by logical cluster. Which clusters have any is known at once, so those without pay a look into a
 * map; what they say is made ready when it is first needed, and again after a change. Kept ready are the clusters that
 * were used last.
 */
export class ClusterConfigurations<T> {
  readonly #informer: Informer;
  readonly #make: (object: DeepReadonly<KubeObject>) => T;
  /** Names by cluster; no entry: none. */
  readonly #names = new Map<LogicalClusterName, Set<string>>();
  readonly #ready = new Map<LogicalClusterName, readonly T[]>();
  readonly #stop: () => void;

  constructor(modules: { readonly informer: Informer; readonly make: (object: DeepReadonly<KubeObject>) => T }) {
    this.#informer = modules.informer;
    this.#make = modules.make;
    this.#stop = this.#informer.addHandlers({
      added: (_object, reference) => this.#add(reference),
      updated: (_object, _old, { cluster }) => void this.#ready.delete(cluster),
      deleted: (_old, reference) => this.#remove(reference),
    });
  }

  stop(): void {
    this.#stop();
  }

  has(cluster: LogicalClusterName): boolean {
    return this.#names.has(cluster);
  }

  /** By name. */
  of(cluster: LogicalClusterName): readonly T[] {
    const names = this.#names.get(cluster);
    if (names === undefined) return [];
    let ready = this.#ready.get(cluster);
    if (ready === undefined) {
      ready = Array.from(names)
        .sort()
        .flatMap((name) => this.#informer.get({ cluster, namespace: '', name }) ?? [])
        .map((object) => this.#make(object));
      if (this.#ready.size >= maxReady) this.#ready.delete(this.#ready.keys().next().value as LogicalClusterName);
    } else {
      // A Map keeps the order of insertion: the first is always the least recently used.
      this.#ready.delete(cluster);
    }
    this.#ready.set(cluster, ready);
    return ready;
  }

  #add({ cluster, name }: ObjectReference): void {
    this.#ready.delete(cluster);
    const names = this.#names.get(cluster);
    if (names === undefined) this.#names.set(cluster, new Set([name]));
    else names.add(name);
  }

  #remove({ cluster, name }: ObjectReference): void {
    this.#ready.delete(cluster);
    const names = this.#names.get(cluster);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(cluster);
  }
}
