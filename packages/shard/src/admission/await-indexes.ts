import {
  admissionForbidden,
  loopbackUser,
  type AdmissionAttributes,
  type AdmissionPlugin,
} from '@multiplane/apiserver';
import type { AwaitedInformers } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';

/** As long as plugins of Kubernetes wait for what they must know. */
const patienceMs = 10_000;
/** What these kinds say is compared with types and exports of all shards. */
const sharedGroups = new Set(['tenancy.kcp.io', 'apis.kcp.io']);

export interface AwaitIndexesModules {
  /** What plugins and authorizers know of this shard. */
  readonly own: Pick<AwaitedInformers, 'isTold' | 'told'>;
  /** The same of the other shards. */
  readonly foreign: Pick<AwaitedInformers, 'isTold' | 'told'>;
  /** Whether webhooks and policies for the write may be those of another shard's logical cluster. */
  readonly isGuardedElsewhere: (attributes: AdmissionAttributes) => boolean;
  readonly clock: Clock;
}

/**
 * No write is judged by half of what there is (K6.1): until webhooks, policies, types and exports are known that were
 * there before the start, a write waits, and in the end is refused as if the server were not there yet. Without it a write
 * right after a start passes policies unseen, and types are not found.
 *
 * What other shards share is waited for only where it counts: a shard goes on with the rest while the cache server is away.
 * The server itself does not wait, for bootstrap makes what others are waiting for.
 */
export class AwaitIndexes implements AdmissionPlugin {
  readonly name = 'AwaitIndexes';
  readonly #modules: AwaitIndexesModules;
  constructor(modules: AwaitIndexesModules) {
    this.#modules = modules;
  }

  handles(): boolean {
    return true;
  }

  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { own, foreign } = this.#modules;
    if ((own.isTold && foreign.isTold) || attributes.user === loopbackUser) return undefined;
    const awaited = [own, ...(this.#needsOthers(attributes) ? [foreign] : [])].filter(({ isTold }) => !isTold);
    return awaited.length === 0 ? undefined : this.#wait(attributes, Promise.all(awaited.map(({ told }) => told)));
  }

  #needsOthers(attributes: AdmissionAttributes): boolean {
    return sharedGroups.has(attributes.definition.group) || this.#modules.isGuardedElsewhere(attributes);
  }

  async #wait(attributes: AdmissionAttributes, told: Promise<unknown>): Promise<void> {
    const tooLate = Promise.withResolvers<never>();
    const timer = this.#modules.clock.after(patienceMs, () =>
      tooLate.reject(admissionForbidden(attributes, 'not yet ready to handle request')),
    );
    try {
      await Promise.race([told, tooLate.promise]);
    } finally {
      timer.cancel();
    }
  }
}
