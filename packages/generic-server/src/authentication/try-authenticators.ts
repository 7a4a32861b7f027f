import type { AuthenticationResponse, MaybePromise } from './authenticator.ts';

/**
 * Calls authenticators in order until one returns a response. Errors are added to `failures`, and the next authenticator is
 * called. Returns a promise only if an authenticator did. Never throws.
 */
export function tryAuthenticators<A>(
  authenticators: readonly A[],
  authenticate: (authenticator: A) => MaybePromise<AuthenticationResponse | undefined>,
  failures: unknown[],
  from = 0,
): MaybePromise<AuthenticationResponse | undefined> {
  for (let i = from; i < authenticators.length; i++) {
    try {
      const response = authenticate(authenticators[i] as A);
      if (response instanceof Promise) return continueAfter(response, authenticators, authenticate, failures, i + 1);
      if (response !== undefined) return response;
    } catch (error) {
      failures.push(error);
    }
  }
  return undefined;
}

async function continueAfter<A>(
  pending: Promise<AuthenticationResponse | undefined>,
  authenticators: readonly A[],
  authenticate: (authenticator: A) => MaybePromise<AuthenticationResponse | undefined>,
  failures: unknown[],
  from: number,
): Promise<AuthenticationResponse | undefined> {
  try {
    const response = await pending;
    if (response !== undefined) return response;
  } catch (error) {
    failures.push(error);
  }
  return tryAuthenticators(authenticators, authenticate, failures, from);
}
