import type { AuthorizationResult } from '@multiplane/generic-server';
import type { AccessReviewer, VirtualAttributes } from '@multiplane/virtual-framework';
import { workspaceTypeOf, type Lifecycle } from './lifecycle.ts';

/**
 * Authorizes callers with the lifecycle's verb (`initialize` or `terminate`) on the WorkspaceType in its logical
 * cluster. The type need not exist: then no logical cluster waits for it.
 */
export function lifecycleAuthorizer(
  { verb, noun }: Lifecycle,
  { reviewer }: { readonly reviewer: AccessReviewer },
): (attributes: VirtualAttributes) => Promise<AuthorizationResult> {
  return async ({ virtual, user, exchange }) => {
    const type = workspaceTypeOf(virtual.key);
    if (type === undefined) return { decision: 'noOpinion', reason: `unable to determine ${noun}` };
    const result = await reviewer.review(exchange, user, type.cluster, {
      verb,
      group: 'tenancy.kcp.io',
      version: 'v1alpha1',
      resource: 'workspacetypes',
      subresource: '',
      namespace: '',
      name: type.name,
    });
    return result.decision === 'allow' ? result : { ...result, reason: 'access denied' };
  };
}
