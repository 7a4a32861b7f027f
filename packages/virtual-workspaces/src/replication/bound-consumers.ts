import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer } from '@multiplane/client';
import { bindingTo, type ExportKey } from '../apiexport/export-bindings.ts';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import type { ConsumerChange, Consumers } from './consumers.ts';
import type { ExportConsumers } from './export-consumers.ts';

export interface BoundConsumersOptions {
  readonly exportKey: ExportKey;
}

export interface BoundConsumersModules {
  readonly bindings: ConsumerBindings;
  readonly exportConsumers: ExportConsumers;
  /** Namespaces of this shard; absent for cluster-scoped resources. */
  readonly namespaces?: Informer | undefined;
}

/** The logical clusters of this shard that have bound an export, and their namespaces. */
export class BoundConsumers implements Consumers {
  readonly #options: BoundConsumersOptions;
  readonly #modules: BoundConsumersModules;

  constructor(options: BoundConsumersOptions, modules: BoundConsumersModules) {
    this.#options = options;
    this.#modules = modules;
  }

  list(): readonly LogicalClusterName[] {
    return this.#modules.exportConsumers.list(this.#options.exportKey);
  }

  hasNamespace(consumer: LogicalClusterName, namespace: string): boolean {
    const { namespaces } = this.#modules;
    return (
      namespaces === undefined || namespaces.get({ cluster: consumer, namespace: '', name: namespace }) !== undefined
    );
  }

  /** Resolves when {@link hasNamespace} knows the namespaces of this shard. */
  get synced(): Promise<void> {
    return this.#modules.namespaces?.synced ?? Promise.resolve();
  }

  subscribe(listener: (change: ConsumerChange) => void): () => void {
    const { bindings, exportConsumers, namespaces } = this.#modules;
    const { exportKey } = this.#options;
    // What becomes known before belongs to the initial state.
    let areNamespacesKnown = false;
    void this.synced.then(
      () => (areNamespacesKnown = true),
      () => undefined,
    );
    const ends = [
      exportConsumers.follow(exportKey, (consumer, isPresent) => listener({ consumer, namespace: '', isPresent })),
    ];
    const ofNamespace = (consumer: LogicalClusterName, namespace: string, isPresent: boolean): void => {
      if (areNamespacesKnown && bindingTo(bindings.cached(consumer), exportKey) !== undefined)
        listener({ consumer, namespace, isPresent });
    };
    if (namespaces !== undefined)
      ends.push(
        namespaces.addHandlers({
          added: (_namespace, { cluster, name }, isInInitialList) => {
            if (!isInInitialList) ofNamespace(cluster, name, true);
          },
          deleted: (_old, { cluster, name }) => ofNamespace(cluster, name, false),
        }),
      );
    return () => {
      for (const end of ends) end();
    };
  }
}
