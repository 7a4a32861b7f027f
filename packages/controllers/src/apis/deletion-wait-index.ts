import type { LogicalClusterName } from '@multiplane/apimachinery';
import { lockName } from '@multiplane/apis';
import type { MetadataInformer } from '@multiplane/client';
import { WaitIndex } from './wait-index.ts';

/**
 * Requeues keys when an object of a resource they wait for is deleted in their logical cluster. A deletion costs one map
 * lookup, and nothing while no key waits.
 */
export class DeletionWaitIndex {
  readonly #waits = new WaitIndex();

  constructor(modules: { readonly metadata: MetadataInformer; readonly requeue: (key: string) => void }) {
    modules.metadata.addHandlers({
      changed: () => {},
      deleted: ({ cluster, resource }) => {
        if (this.#waits.isEmpty) return;
        for (const key of this.#waits.of(waitName(cluster, lockName(resource)))) modules.requeue(key);
      },
    });
  }

  /** Replaces the resources, by {@link lockName}, that a key waits for. */
  set(key: string, cluster: LogicalClusterName, resources: Iterable<string>): void {
    this.#waits.set(
      key,
      Array.from(resources, (name) => waitName(cluster, name)),
    );
  }

  forget(key: string): void {
    this.#waits.forget(key);
  }
}

const waitName = (cluster: LogicalClusterName, resource: string): string => `${cluster}|${resource}`;
