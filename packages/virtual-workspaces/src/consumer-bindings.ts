import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, type APIBinding } from '@multiplane/apis';
import type { Exchange } from '@multiplane/apiserver';
import type { Informer } from '@multiplane/client';
import { objectOf, request as send, type ShardConnection } from '@multiplane/virtual-framework';

export type BindingList = readonly DeepReadonly<APIBinding>[];

/**
 * The bindings of this shard's logical clusters, by an informer that may be behind the shard: what is found there holds;
 * before something is refused for lack of a binding, the shard itself is asked.
 */
export class ConsumerBindings {
  readonly informer: Informer<APIBinding>;
  readonly #shard: ShardConnection | undefined;

  /** `shard`: absent where the informer is never behind. */
  constructor(modules: { readonly informer: Informer<APIBinding>; readonly shard?: ShardConnection | undefined }) {
    this.informer = modules.informer;
    this.#shard = modules.shard;
  }

  known(cluster: LogicalClusterName): BindingList {
    return this.informer.list({ cluster });
  }

  /** The first of what `decide` says of the bindings that is not undefined: of the known ones, else of those there are now. */
  async decide<T>(
    parent: Exchange,
    cluster: LogicalClusterName,
    decide: (bindings: BindingList) => T | undefined,
  ): Promise<T | undefined> {
    const decision = decide(this.known(cluster));
    if (decision !== undefined || this.#shard === undefined) return decision;
    const { group, version, resource } = apiBindings;
    const answer = await send(
      this.#shard,
      parent,
      { url: `/clusters/${cluster}/apis/${group}/${version}/${resource}` },
      { method: 'GET', headers: { accept: 'application/json' } },
    );
    // A logical cluster that is not here has no bindings here.
    if (answer.status === 403 || answer.status === 404) return undefined;
    return decide((objectOf(answer) as unknown as { items: APIBinding[] }).items);
  }
}
