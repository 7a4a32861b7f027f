import type { LogicalClusterName } from '@multiplane/apimachinery';
import { lockName } from '@multiplane/apis';
import type { MetadataInformer } from '@multiplane/client';
import { KeyWaits } from './key-waits.ts';

/**
 * Who waits for objects of a resource in a logical cluster to go. Costs nothing while nobody waits, and nothing but the
 * look-up of one name when an object goes.
 */
export class ObjectWaits {
  readonly #waits = new KeyWaits();

  constructor(modules: {
    readonly metadata: MetadataInformer;
    /** Brings a key back. */
    readonly again: (key: string) => void;
  }) {
    modules.metadata.addHandlers({
      changed: () => {},
      deleted: ({ cluster, resource }) => {
        if (this.#waits.idle) return;
        for (const key of this.#waits.of(placeOf(cluster, lockName(resource)))) modules.again(key);
      },
    });
  }

  /** From now on a key waits for resources by these names ({@link lockName}), and for no others. */
  set(key: string, cluster: LogicalClusterName, names: Iterable<string>): void {
    this.#waits.set(
      key,
      Array.from(names, (name) => placeOf(cluster, name)),
    );
  }

  forget(key: string): void {
    this.#waits.forget(key);
  }
}

const placeOf = (cluster: LogicalClusterName, name: string): string => `${cluster}|${name}`;
