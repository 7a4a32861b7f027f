import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import type { EmbeddingHost } from '@multiplane/apiserver';
import type { Exchange } from '@multiplane/generic-server';
import type { UpstreamRequest, ShardConnection } from './shard-connection.ts';

/** The user that virtual workspaces act as in a shard of their own process. */
const self: UserInfo = Object.freeze({
  name: 'system:virtual-workspaces',
  uid: '',
  groups: Object.freeze<string[]>([mastersGroup]),
  extra: Object.freeze({}),
});

/**
 * {@link ShardConnection} within the shard's process: the request enters the shard's handler chain without a socket.
 */
export class DispatchingConnection implements ShardConnection {
  readonly #host: Pick<EmbeddingHost, 'dispatch'>;
  constructor(modules: { readonly host: Pick<EmbeddingHost, 'dispatch'> }) {
    this.#host = modules.host;
  }

  forward(exchange: Exchange, { url, user = self }: UpstreamRequest): Promise<void> {
    return this.#host.dispatch(exchange, user, url);
  }
}
