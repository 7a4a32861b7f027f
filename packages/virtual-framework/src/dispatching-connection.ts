import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import type { EmbeddingHost, Exchange } from '@multiplane/apiserver';
import type { Onward, ShardConnection } from './shard-connection.ts';

/** Who virtual workspaces are to the shard whose process they share. */
const self: UserInfo = Object.freeze({
  name: 'system:virtual-workspaces',
  uid: '',
  groups: Object.freeze<string[]>([mastersGroup]),
  extra: Object.freeze({}),
});

/** {@link ShardConnection} inside the shard's own process: the request goes down the shard's chain, without a socket. */
export class DispatchingConnection implements ShardConnection {
  readonly #host: Pick<EmbeddingHost, 'dispatch'>;
  constructor(modules: { readonly host: Pick<EmbeddingHost, 'dispatch'> }) {
    this.#host = modules.host;
  }

  forward(exchange: Exchange, { url, user = self }: Onward): Promise<void> {
    return this.#host.dispatch(exchange, user, url);
  }
}
