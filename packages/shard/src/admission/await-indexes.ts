import {
  admissionForbidden,
  loopbackUser,
  type AdmissionAttributes,
  type AdmissionPlugin,
} from '@multiplane/apiserver';
import type { InformerSyncTracker } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';

/** As long as Kubernetes' admission plugins wait for their informers (`timeToWaitForReady`). */
const maxWaitMs = 10_000;
/** Admission of these groups looks up workspace types and exports of all shards. */
const sharedGroups = new Set(['tenancy.kcp.io', 'apis.kcp.io']);

export interface AwaitIndexesModules {
  /** The informers of plugins and authorizers over this shard. */
  readonly local: Pick<InformerSyncTracker, 'hasSynced' | 'synced'>;
  /** Their informers over the other shards. */
  readonly remote: Pick<InformerSyncTracker, 'hasSynced' | 'synced'>;
  /** Whether webhooks and policies of another shard's logical cluster may apply to the write. */
  readonly isGuardedByOtherShard: (attributes: AdmissionAttributes) => boolean;
  readonly clock: Clock;
}

/**
 * Delays writes until the informers of admission have synced, and rejects them after {@link maxWaitMs}, as the plugins of
 * Kubernetes do (`WaitForReady`). Otherwise a write right after the start would bypass policies and webhooks that are not
 * loaded yet, or would not find its workspace type.
 *
 * Informers over other shards delay only the writes that depend on them: all others continue while the cache server is down.
 * The loopback client does not wait, because bootstrap creates the objects that other requests wait for.
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
    const { local, remote } = this.#modules;
    if ((local.hasSynced && remote.hasSynced) || attributes.user === loopbackUser) return undefined;
    const awaited = [local, ...(this.#needsOthers(attributes) ? [remote] : [])].filter(({ hasSynced }) => !hasSynced);
    return awaited.length === 0 ? undefined : this.#wait(attributes, Promise.all(awaited.map(({ synced }) => synced)));
  }

  #needsOthers(attributes: AdmissionAttributes): boolean {
    return sharedGroups.has(attributes.definition.group) || this.#modules.isGuardedByOtherShard(attributes);
  }

  async #wait(attributes: AdmissionAttributes, synced: Promise<unknown>): Promise<void> {
    const timeout = Promise.withResolvers<never>();
    const timer = this.#modules.clock.after(maxWaitMs, () =>
      timeout.reject(admissionForbidden(attributes, 'not yet ready to handle request')),
    );
    try {
      await Promise.race([synced, timeout.promise]);
    } finally {
      timer.cancel();
    }
  }
}
