import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import { connectionHeader } from '@multiplane/component-base';
import type { Exchange } from './exchange.ts';

/** The groups of the identities that our servers have towards each other. */
const serverGroups: ReadonlySet<string> = new Set([
  mastersGroup,
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
]);

/** Whether the user is one of our servers, which forwards requests of others. */
export const isServer = ({ groups }: UserInfo): boolean => groups.some((group) => serverGroups.has(group));

/**
 * Gives each connection of a client a name, so that the servers behind a proxy can tell the connections apart of which the
 * requests arrive through the few connections of the proxy.
 */
export class ConnectionNames {
  readonly #process: string;
  readonly #names = new WeakMap<object, string>();
  #count = 0;

  /** `process`: begins the names; unique among all processes. */
  constructor({ process }: { readonly process: string }) {
    this.#process = process;
  }

  /**
   * Sets {@link connectionHeader} to the name of the connection. A name that the request already has remains if `isTrusted`:
   * if the request is from a proxy that sets the header itself, or was dispatched within this process.
   */
  assign({ headers, socket }: Pick<Exchange, 'headers' | 'socket'>, isTrusted: () => boolean): void {
    const received = headers[connectionHeader];
    if (typeof received === 'string' && received !== '' && isTrusted()) return;
    let name = this.#names.get(socket);
    if (name === undefined) {
      name = `${this.#process}-${this.#count++}`;
      this.#names.set(socket, name);
    }
    (headers as Record<string, unknown>)[connectionHeader] = name;
  }
}
