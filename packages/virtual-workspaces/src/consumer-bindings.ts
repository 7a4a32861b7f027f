import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, type APIBinding } from '@multiplane/apis';
import type { Informer } from '@multiplane/client';
import type { Exchange } from '@multiplane/generic-server';
import { responseObject, sendRequest as send, type ShardConnection } from '@multiplane/virtual-framework';

export type BindingList = readonly DeepReadonly<APIBinding>[];

/**
 * The APIBindings of this shard's logical clusters, by an informer that may lag behind the shard. A decision that the
 * informer's state allows is final; before access is denied for lack of a binding, the shard is read directly.
 */
export class ConsumerBindings {
  readonly informer: Informer<APIBinding>;
  readonly #shard: ShardConnection | undefined;

  /** `shard`: absent if the informer never lags behind. */
  constructor(modules: { readonly informer: Informer<APIBinding>; readonly shard?: ShardConnection | undefined }) {
    this.informer = modules.informer;
    this.#shard = modules.shard;
  }

  cached(cluster: LogicalClusterName): BindingList {
    return this.informer.list({ cluster });
  }

  /** Calls `decide` with the cached bindings, and if it returns undefined, with those that the shard returns. */
  async evaluate<T>(
    parent: Exchange,
    cluster: LogicalClusterName,
    decide: (bindings: BindingList) => T | undefined,
  ): Promise<T | undefined> {
    const decision = decide(this.cached(cluster));
    if (decision !== undefined || this.#shard === undefined) return decision;
    const { group, version, resource } = apiBindings;
    const answer = await send(
      this.#shard,
      parent,
      { url: `/clusters/${cluster}/apis/${group}/${version}/${resource}` },
      { method: 'GET', headers: { accept: 'application/json' } },
    );
    // A logical cluster of another shard has no bindings on this one.
    if (answer.status === 403 || answer.status === 404) return undefined;
    return decide((responseObject(answer) as unknown as { items: APIBinding[] }).items);
  }
}
