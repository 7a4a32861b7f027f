import {
  asJson,
  encodeJson,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '@multiplane/client';
import type { FaultyObject, ObjectFaults } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';

/** Limit of compiled configurations, by the size of their JSON. */
const maxCompiledBytes = 16 * 1024 * 1024;

interface CompiledConfigurations<T> {
  readonly configurations: readonly T[];
  readonly bytes: number;
}

export interface ClusterConfigurationsModules<T> {
  readonly kind: FaultyObject['kind'];
  readonly informer: Informer;
  readonly compile: (object: DeepReadonly<KubeObject>) => T;
  /** What stands for a configuration that {@link compile} fails for; undefined: it is left out. */
  readonly compileBroken: (object: DeepReadonly<KubeObject>, cause: unknown) => T | undefined;
  readonly faults: ObjectFaults;
}

/**
 * Configurations of one kind by logical cluster. The names per cluster are always in memory, so clusters without
 * configurations cost one map lookup. Configurations are compiled on first use and after a change; compiled ones are
 * kept for the most recently used clusters.
 */
export class ClusterConfigurations<T> {
  readonly #informer: Informer;
  readonly #modules: ClusterConfigurationsModules<T>;
  /** Names by cluster; no entry: none. */
  readonly #names = new Map<LogicalClusterName, Set<string>>();
  readonly #compiled = new LRUCache<LogicalClusterName, CompiledConfigurations<T>>({
    maxSize: maxCompiledBytes,
    sizeCalculation: ({ bytes }) => Math.min(Math.max(bytes, 1), maxCompiledBytes),
  });
  readonly #stop: () => void;

  constructor(modules: ClusterConfigurationsModules<T>) {
    this.#informer = modules.informer;
    this.#modules = modules;
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
    return { configurations: objects.flatMap((object) => this.#isolated(cluster, object)), bytes };
  }

  /** One configuration that cannot be compiled must not fail the writes that the others are for. */
  #isolated(cluster: LogicalClusterName, object: DeepReadonly<KubeObject>): readonly T[] {
    const { kind, faults, compile, compileBroken } = this.#modules;
    const { name = '', resourceVersion = '' } = object.metadata;
    const faulty = { kind, cluster, name, version: resourceVersion };
    const broken = (cause: unknown): readonly T[] => {
      const compiled = compileBroken(object, cause);
      return compiled === undefined ? [] : [compiled];
    };
    return faults.isolate(
      faulty,
      () => [compile(object)],
      (cause) =>
        faults.isolate(
          faulty,
          () => broken(cause),
          () => [],
        ),
    );
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
