import {
  asJson,
  encodeJson,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '@multiplane/client';
import { RecentlyUsed } from '../../recently-used.ts';

/** Of the configurations that are kept ready, by what they take as text. */
const maxReadyBytes = 16 * 1024 * 1024;

interface Ready<T> {
  readonly configurations: readonly T[];
  readonly bytes: number;
}

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
  readonly #ready = new RecentlyUsed<LogicalClusterName, Ready<T>>(maxReadyBytes, ({ bytes }) => bytes);
  readonly #stop: () => void;

  constructor(modules: { readonly informer: Informer; readonly make: (object: DeepReadonly<KubeObject>) => T }) {
    this.#informer = modules.informer;
    this.#make = modules.make;
    this.#stop = this.#informer.addHandlers({
      added: (_object, reference) => this.#add(reference),
      updated: (_object, _old, { cluster }) => this.#ready.delete(cluster),
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
      ready = this.#prepare(cluster, names);
      this.#ready.set(cluster, ready);
    }
    return ready.configurations;
  }

  #prepare(cluster: LogicalClusterName, names: ReadonlySet<string>): Ready<T> {
    const objects = Array.from(names)
      .sort()
      .flatMap((name) => this.#informer.get({ cluster, namespace: '', name }) ?? []);
    const bytes = objects.reduce((sum, object) => sum + encodeJson(asJson(object as KubeObject)).length, 0);
    return { configurations: objects.map((object) => this.#make(object)), bytes };
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
