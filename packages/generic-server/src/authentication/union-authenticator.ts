import { anonymousUserName, authenticatedGroup, unauthenticatedGroup, type UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '../exchange.ts';
import type { RequestInfo } from '../request-info.ts';
import { askInTurn } from './ask-in-turn.ts';
import type { AuthenticationResponse, RequestAuthenticator, Soon } from './authenticator.ts';

interface UnionAuthenticatorOptions {
  /** Whether a request that presents nothing may go on as `system:anonymous`; a function decides for each. */
  readonly anonymous: boolean | ((info: RequestInfo) => boolean);
}

/**
 * Asks authenticators in their order; the first who knows the caller wins. A credential that somebody found wrong is
 * remembered while the others are asked, and then never falls back to anonymous (K7.1).
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

  /** Throws an AggregateError when something was presented and nobody accepted it; undefined when anonymous is off. */
  authenticate(exchange: Exchange, info: RequestInfo): Soon<AuthenticationResponse | undefined> {
    const failures: unknown[] = [];
    const ask = (authenticator: RequestAuthenticator): Soon<AuthenticationResponse | undefined> =>
      authenticator.authenticate(exchange, info);
    const response = askInTurn(this.#authenticators, ask, failures);
    return response instanceof Promise
      ? response.then((late) => this.#verdict(late, failures, info))
      : this.#verdict(response, failures, info);
  }

  #verdict(
    response: AuthenticationResponse | undefined,
    failures: readonly unknown[],
    info: RequestInfo,
  ): AuthenticationResponse | undefined {
    if (response !== undefined) return { ...response, user: withAuthenticatedGroup(response.user) };
    if (failures.length > 0) throw new AggregateError(failures, 'no authenticator accepted the credentials');
    return this.#anonymous(info) ? { user: anonymousUser } : undefined;
  }
}

/** Who presents nothing. */
export const anonymousUser: UserInfo = Object.freeze({
  name: anonymousUserName,
  uid: '',
  groups: Object.freeze([unauthenticatedGroup]),
  extra: Object.freeze({}),
});

/** Every caller who is known is in `system:authenticated`. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (
    user.name === anonymousUserName ||
    user.groups.includes(authenticatedGroup) ||
    user.groups.includes(unauthenticatedGroup)
  )
    return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}
