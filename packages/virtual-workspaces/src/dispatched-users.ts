import type { UserInfo } from '@multiplane/apimachinery';
import {
  DispatchedExchange,
  type ServerExchange,
  type Exchange,
  type Headers,
  type RequestAuthenticator,
} from '@multiplane/generic-server';

/** Authenticates the requests that the shard of this process dispatches as the users it names, all others as before. */
export class DispatchedUsers {
  readonly authenticator: RequestAuthenticator;
  /** By the headers, which stay the same object under whatever wraps the exchange. */
  readonly #users = new WeakMap<Headers, UserInfo>();

  constructor(modules: { readonly authenticator: RequestAuthenticator }) {
    this.authenticator = {
      authenticate: (request, ...rest) => {
        const user = this.#users.get(request.headers);
        return user === undefined
          ? modules.authenticator.authenticate(request, ...rest)
          : Promise.resolve({ user, isDispatched: true });
      },
    };
  }

  dispatch(handle: (exchange: ServerExchange) => Promise<void>) {
    return (exchange: Exchange, user: UserInfo, url: string): Promise<void> => {
      const dispatched = new DispatchedExchange(exchange, url);
      this.#users.set(dispatched.headers, user);
      return handle(dispatched);
    };
  }
}
