import { compareBytewise, type DeepReadonly, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { APIBinding } from '@multiplane/apis';
import type { Informer } from '@multiplane/client';
import { bindingTo, type ExportKey } from '../apiexport/export-bindings.ts';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import type { ConsumerChange, Consumers } from './consumers.ts';

export interface BoundConsumersOptions {
  readonly exportKey: ExportKey;
}

export interface BoundConsumersModules {
  readonly bindings: ConsumerBindings;
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
    const consumers = new Set<LogicalClusterName>();
    for (const binding of this.#modules.bindings.informer.list()) {
      const cluster = clusterOf(binding);
      if (this.#isOf(binding)) consumers.add(cluster);
    }
    return [...consumers].sort(compareBytewise);
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
    const { bindings, namespaces } = this.#modules;
    // What becomes known before belongs to the initial state.
    let areNamespacesKnown = false;
    void this.synced.then(
      () => (areNamespacesKnown = true),
      () => undefined,
    );
    const ofBinding = (consumer: LogicalClusterName, isPresent: boolean): void =>
      listener({ consumer, namespace: '', isPresent });
    const ends = [
      bindings.informer.addHandlers({
        added: (binding, { cluster }, isInInitialList) => {
          if (!isInInitialList && this.#isOf(binding)) ofBinding(cluster, true);
        },
        updated: (binding, old, { cluster }) => {
          if (this.#isOf(binding) !== this.#isOf(old)) ofBinding(cluster, this.#isOf(binding));
        },
        deleted: (old, { cluster }) => {
          if (this.#isOf(old)) ofBinding(cluster, false);
        },
      }),
    ];
    const ofNamespace = (consumer: LogicalClusterName, namespace: string, isPresent: boolean): void => {
      if (areNamespacesKnown && bindingTo(bindings.cached(consumer), this.#options.exportKey) !== undefined)
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

  #isOf(binding: DeepReadonly<APIBinding>): boolean {
    return binding.status?.phase === 'Bound' && bindingTo([binding], this.#options.exportKey) !== undefined;
  }
}

const clusterOf = ({ metadata }: DeepReadonly<KubeObject>): LogicalClusterName =>
  (metadata.annotations?.['kcp.io/cluster'] ?? '') as LogicalClusterName;
