import { statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { TokenAuthenticator } from '../authentication/authenticator.ts';
import { withAuthenticatedGroup } from '../authentication/union-authenticator.ts';
import type { CreateHandler } from '../endpoints/create-handler.ts';

/** The user as reviews print it; empty parts are left out. */
export function userInfoObject(user: UserInfo): Record<string, unknown> {
  const extra = Object.keys(user.extra);
  return {
    username: user.name,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
    ...(extra.length === 0 ? {} : { extra: { ...user.extra } }),
  };
}

/** SelfSubjectReview: who the server takes the caller for, after impersonation (K7.2). */
export const selfSubjectReview: CreateHandler = async ({ context, object }) => ({
  ...object,
  metadata: {
    ...object.metadata,
    creationTimestamp: new Date(context.receivedAt).toISOString().replace(/\.\d+Z$/, 'Z'),
  },
  status: { userInfo: userInfoObject(context.user) },
});

/** TokenReview: whose token this is (K7.2). Never 401: a bad token is an answer too. The token itself is not echoed. */
export function tokenReview(
  options: { readonly audiences: readonly string[] },
  modules: { readonly tokens: TokenAuthenticator },
): CreateHandler {
  return async ({ object }) => {
    const spec = (object['spec'] ?? {}) as { token?: string; audiences?: string[] };
    if (spec.token === undefined || spec.token === '')
      throw statusErrors.badRequest('token is required for TokenReview in authentication');
    const wanted = spec.audiences ?? [];
    const audiences = wanted.length === 0 ? options.audiences : wanted;
    const { token: _token, ...rest } = spec;
    const answer = (status: Record<string, unknown>) => ({ ...object, spec: rest, status });
    try {
      const response = await modules.tokens.authenticateToken(spec.token, audiences);
      if (response === undefined) return answer({ user: {}, error: 'invalid bearer token' });
      const accepted = response.audiences ?? audiences;
      return answer({
        authenticated: true,
        user: userInfoObject(withAuthenticatedGroup(response.user)),
        ...(accepted.length === 0 ? {} : { audiences: [...accepted] }),
      });
    } catch (error) {
      return answer({ user: {}, error: `[invalid bearer token, ${(error as Error).message}]` });
    }
  };
}
