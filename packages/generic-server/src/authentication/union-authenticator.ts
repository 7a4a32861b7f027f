import { anonymousUserName, authenticatedGroup, unauthenticatedGroup, type UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '../server/exchange.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { tryAuthenticators } from './try-authenticators.ts';
import type { AuthenticationResponse, RequestAuthenticator, MaybePromise } from './authenticator.ts';

interface UnionAuthenticatorOptions {
  /** Whether a request without credentials becomes `system:anonymous`; a function decides per request. */
  readonly anonymous: boolean | ((info: RequestInfo) => boolean);
}

/**
 * Tries authenticators in order; the first success wins. A request with an invalid credential never becomes anonymous, as in
 * Kubernetes.
 */
export class UnionAuthenticator implements RequestAuthenticator {
  readonly #anonymous: (info: RequestInfo) => boolean;
  readonly #authenticators: readonly RequestAuthenticator[];
  constructor(
    options: UnionAuthenticatorOptions,
    modules: { readonly authenticators: readonly RequestAuthenticator[] },
  ) {
    const { anonymous } = options;
    this.#anonymous = typeof anonymous === 'function' ? anonymous : () => anonymous;
    this.#authenticators = modules.authenticators;
  }

  /** Throws an AggregateError if authenticators failed and none succeeded; returns undefined if anonymous requests are not allowed. */
  authenticate(exchange: Exchange, info: RequestInfo): MaybePromise<AuthenticationResponse | undefined> {
    const failures: unknown[] = [];
    const authenticate = (authenticator: RequestAuthenticator): MaybePromise<AuthenticationResponse | undefined> =>
      authenticator.authenticate(exchange, info);
    const response = tryAuthenticators(this.#authenticators, authenticate, failures);
    return response instanceof Promise
      ? response.then((resolved) => this.#result(resolved, failures, info))
      : this.#result(response, failures, info);
  }

  isProxy(exchange: Exchange): boolean {
    return this.#authenticators.some((authenticator) => authenticator.isProxy?.(exchange) === true);
  }

  #result(
    response: AuthenticationResponse | undefined,
    failures: readonly unknown[],
    info: RequestInfo,
  ): AuthenticationResponse | undefined {
    if (response !== undefined) return { ...response, user: withAuthenticatedGroup(response.user) };
    if (failures.length > 0) throw new AggregateError(failures, 'no authenticator accepted the credentials');
    return this.#anonymous(info) ? { user: anonymousUser } : undefined;
  }
}

/** The user of requests without credentials. */
const anonymousUser: UserInfo = Object.freeze({
  name: anonymousUserName,
  uid: '',
  groups: Object.freeze([unauthenticatedGroup]),
  extra: Object.freeze({}),
});

/** Adds the group `system:authenticated`, except to anonymous users. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (
    user.name === anonymousUserName ||
    user.groups.includes(authenticatedGroup) ||
    user.groups.includes(unauthenticatedGroup)
  )
    return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}
