import { statusErrors, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import { type TokenAuthenticator, withAuthenticatedGroup } from '@multiplane/generic-server';
import type { CreateHandler } from '../endpoints/create-handler.ts';

/** The UserInfo of reviews; empty fields are omitted. */
export function userInfoObject(user: UserInfo): Record<string, unknown> {
  const extra = Object.keys(user.extra);
  return {
    username: user.name,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
    ...(extra.length === 0 ? {} : { extra: { ...user.extra } }),
  };
}

/** SelfSubjectReview: the authenticated user of the request, after impersonation. */
export const selfSubjectReview: CreateHandler = async ({ context, object }) => ({
  ...object,
  metadata: {
    ...object.metadata,
    creationTimestamp: new Date(context.receivedAt).toISOString().replace(/\.\d+Z$/, 'Z'),
  },
  status: { userInfo: userInfoObject(context.user) },
});

/**
 * TokenReview: authenticates a token. An invalid token is reported in the status, never as 401. The response repeats the
 * spec with its token, as that of Kubernetes does.
 */
export function tokenReview(
  options: { readonly audiences: readonly string[] },
  modules: {
    /** The tokens that hold in a logical cluster. */
    readonly tokensIn: (cluster: LogicalClusterName) => TokenAuthenticator;
  },
): CreateHandler {
  return async ({ object, cluster }) => {
    const spec = (object['spec'] ?? {}) as { token?: string; audiences?: string[] };
    if (spec.token === undefined || spec.token === '')
      throw statusErrors.badRequest('token is required for TokenReview in authentication');
    const wanted = spec.audiences ?? [];
    const audiences = wanted.length === 0 ? options.audiences : wanted;
    const withStatus = (status: Record<string, unknown>) => ({ ...object, status });
    try {
      const response = await modules.tokensIn(cluster).authenticateToken(spec.token, audiences);
      if (response === undefined) return withStatus({ user: {}, error: 'invalid bearer token' });
      const accepted = response.audiences ?? audiences;
      return withStatus({
        authenticated: true,
        user: userInfoObject(withAuthenticatedGroup(response.user)),
        ...(accepted.length === 0 ? {} : { audiences: [...accepted] }),
      });
    } catch (error) {
      return withStatus({ user: {}, error: `[invalid bearer token, ${(error as Error).message}]` });
    }
  };
}
