import {
  asJson,
  encodeJson,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '@multiplane/client';
import { LRUCache } from 'lru-cache';

/** Limit of compiled configurations, by the size of their JSON. */
const maxCompiledBytes = 16 * 1024 * 1024;

interface CompiledConfigurations<T> {
  readonly configurations: readonly T[];
  readonly bytes: number;
}

/**
 * Configurations of one kind by logical cluster. The names per cluster are always in memory, so clusters without
 * configurations cost one map lookup. Configurations are compiled on first use and after a change; compiled ones are
 * kept for the most recently used clusters.
 */
export class ClusterConfigurations<T> {
  readonly #informer: Informer;
  readonly #compileOne: (object: DeepReadonly<KubeObject>) => T;
  /** Names by cluster; no entry: none. */
  readonly #names = new Map<LogicalClusterName, Set<string>>();
  readonly #compiled = new LRUCache<LogicalClusterName, CompiledConfigurations<T>>({
    maxSize: maxCompiledBytes,
    sizeCalculation: ({ bytes }) => Math.min(Math.max(bytes, 1), maxCompiledBytes),
  });
  readonly #stop: () => void;

  constructor(modules: { readonly informer: Informer; readonly compile: (object: DeepReadonly<KubeObject>) => T }) {
    this.#informer = modules.informer;
    this.#compileOne = modules.compile;
    this.#stop = this.#informer.addHandlers({
      added: (_object, reference) => this.#add(reference),
      updated: (_object, _old, { cluster }) => this.#compiled.delete(cluster),
      deleted: (_old, reference) => this.#remove(reference),
    });
  }

  stop(): void {
    this.#stop();
  }

  has(cluster: LogicalClusterName): boolean {
    return this.#names.has(cluster);
  }

  /** The compiled configurations of a cluster, ordered by name. */
  of(cluster: LogicalClusterName): readonly T[] {
    const names = this.#names.get(cluster);
    if (names === undefined) return [];
    let compiled = this.#compiled.get(cluster);
    if (compiled === undefined) {
      compiled = this.#compile(cluster, names);
      this.#compiled.set(cluster, compiled);
    }
    return compiled.configurations;
  }

  #compile(cluster: LogicalClusterName, names: ReadonlySet<string>): CompiledConfigurations<T> {
    const objects = Array.from(names)
      .sort()
      .flatMap((name) => this.#informer.get({ cluster, namespace: '', name }) ?? []);
    const bytes = objects.reduce((sum, object) => sum + encodeJson(asJson(object as KubeObject)).length, 0);
    return { configurations: objects.map((object) => this.#compileOne(object)), bytes };
  }

  #add({ cluster, name }: ObjectReference): void {
    this.#compiled.delete(cluster);
    const names = this.#names.get(cluster);
    if (names === undefined) this.#names.set(cluster, new Set([name]));
    else names.add(name);
  }

  #remove({ cluster, name }: ObjectReference): void {
    this.#compiled.delete(cluster);
    const names = this.#names.get(cluster);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(cluster);
  }
}
