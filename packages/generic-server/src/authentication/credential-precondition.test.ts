import { expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { Precondition } from '../lifecycle/precondition.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { Exchange } from '../server/exchange.ts';
import { ReviewUnavailableError } from '../webhooks/review-unavailable-error.ts';
import type { AuthenticationResponse } from './authenticator.ts';
import { CredentialPrecondition } from './credential-precondition.ts';

const ann: UserInfo = { name: 'ann', uid: '1', groups: ['a', 'b'], extra: { time: ['1'] } };

/** The precondition of a request that was authenticated as ann, with what the authenticator says later. */
function admitted(later: () => AuthenticationResponse | undefined): { readonly preconditions: Precondition[] } {
  const headers: Record<string, string | undefined> = { authorization: 'Bearer t' };
  const exchange = { headers } as unknown as Exchange;
  const credential = new CredentialPrecondition(
    {
      authenticate: (request) => {
        expect(request.headers['authorization']).toBe('Bearer t');
        return later();
      },
    },
    exchange,
    {} as RequestInfo,
  );
  headers['authorization'] = undefined;
  const context = { preconditions: [] as Precondition[] };
  credential.addTo(context, { user: ann });
  return context;
}

const fail = (error: Error) => (): never => {
  throw error;
};

test.each<[string, () => AuthenticationResponse | undefined, boolean]>([
  ['the same user', () => ({ user: ann }), true],
  ['the same user with other extras', () => ({ user: { ...ann, extra: { time: ['2'] } } }), true],
  ['groups in another order', () => ({ user: { ...ann, groups: ['b', 'a'] } }), true],
  ['another user', () => ({ user: { ...ann, name: 'bob' } }), false],
  ['a group less', () => ({ user: { ...ann, groups: ['a'] } }), false],
  ['a scope', () => ({ user: { ...ann, extra: { 'authentication.kcp.io/scopes': ['cluster:a'] } } }), false],
  ['no user', () => undefined, false],
  ['an expired credential', fail(new AggregateError([new Error('expired')])), false],
  ['an outage', fail(new AggregateError([new Error('no'), new ReviewUnavailableError('no answer')])), true],
])('%s', (_name, later, holds) => {
  const { preconditions } = admitted(later);
  expect(preconditions.map((precondition) => precondition.holds())).toEqual([holds]);
});

test('a chain of this process verifies the credential of a request that it passed on', () => {
  const credential = new CredentialPrecondition(
    { authenticate: () => undefined },
    { headers: {} } as unknown as Exchange,
    {} as RequestInfo,
  );
  const preconditions: Precondition[] = [];
  credential.addTo({ preconditions }, { user: ann, isDispatched: true });
  expect(preconditions).toEqual([]);
});
