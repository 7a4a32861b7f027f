import type { UserInfo } from '@multiplane/apimachinery';
import type { Precondition } from '../lifecycle/precondition.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { Exchange, Headers } from '../server/exchange.ts';
import { ExchangeDecorator } from '../server/exchange-decorator.ts';
import type { AuthenticationResponse, MaybePromise, RequestAuthenticator } from './authenticator.ts';
import { isReviewUnavailable } from '../webhooks/review-unavailable-error.ts';

/** A request with the headers with which it arrived. */
class RequestAsReceived extends ExchangeDecorator {
  readonly #headers: Headers;
  constructor(exchange: Exchange, headers: Headers) {
    super(exchange);
    this.#headers = copyOf(headers);
  }
  override get headers(): Headers {
    return this.#headers;
  }
}

/**
 * The credentials of a long-running request still authenticate the same user: a client certificate or token has not expired, an
 * account or its secret still exists. Must be created before the request is authenticated, because authenticators remove
 * credentials from its headers.
 */
export class CredentialPrecondition implements Precondition {
  readonly kind = 'credential' as const;
  readonly #authenticator: RequestAuthenticator;
  readonly #exchange: Exchange;
  readonly #info: RequestInfo;
  readonly #headers: Headers;
  #user: UserInfo | undefined;

  constructor(authenticator: RequestAuthenticator, exchange: Exchange, info: RequestInfo) {
    this.#authenticator = authenticator;
    this.#exchange = exchange;
    this.#info = info;
    this.#headers = copyOf(exchange.headers);
  }

  /** Adds itself to the preconditions of the request, with the user as authenticated: impersonation replaces that of the context. */
  addTo({ preconditions }: Pick<RequestContext, 'preconditions'>, response: AuthenticationResponse | undefined): void {
    if (response === undefined || response.isDispatched === true) return;
    this.#user = response.user;
    preconditions?.push(this);
  }

  readonly holds = (): MaybePromise<boolean> => {
    try {
      const response = this.#authenticator.authenticate(
        new RequestAsReceived(this.#exchange, this.#headers),
        this.#info,
      );
      return response instanceof Promise ? response.then(this.#isSame, isReviewUnavailable) : this.#isSame(response);
    } catch (error) {
      return isReviewUnavailable(error);
    }
  };

  readonly #isSame = (response: AuthenticationResponse | undefined): boolean =>
    response !== undefined && this.#user !== undefined && isSameUser(this.#user, response.user);
}

const copyOf = (headers: Headers): Headers => Object.assign(Object.create(null) as Headers, headers);

/** Extras of others than kcp are not compared: a token webhook may report a time or a counter in them. */
function isSameUser(a: UserInfo, b: UserInfo): boolean {
  if (a === b) return true;
  return (
    a.name === b.name &&
    a.uid === b.uid &&
    isSameList(a.groups.toSorted(), b.groups.toSorted()) &&
    [a, b].every(({ extra }) =>
      Object.keys(extra).every((key) => !key.includes('kcp.io') || isSameList(a.extra[key] ?? [], b.extra[key] ?? [])),
    )
  );
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, at) => value === b[at]);
