import type { RequestAuthenticator } from './authenticator.ts';

/** Authenticates the requests that another handler chain of this process passes on, as the users that it names. */
export const dispatchedAuthenticator: RequestAuthenticator = {
  authenticate: ({ dispatchedUser: user }) => (user === undefined ? undefined : { user, isDispatched: true }),
};
