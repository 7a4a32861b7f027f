import type { AuthorizationResult } from '@multiplane/apiserver';
import type { AccessReviewer, VirtualAttributes } from '@multiplane/virtual-framework';
import { typeOf, type Lifecycle } from './lifecycle.ts';

/**
 * Who may act for a workspace type: those with the lifecycle's verb on the type, where it lives (C8.4). It need not
 * exist: then there is nothing to see.
 */
export function lifecycleAccess(
  { verb, noun }: Lifecycle,
  { reviewer }: { readonly reviewer: AccessReviewer },
): (attributes: VirtualAttributes) => Promise<AuthorizationResult> {
  return async ({ virtual, user, exchange }) => {
    const type = typeOf(virtual.key);
    if (type === undefined) {
      const error = new Error('access not permitted');
      return { decision: 'noOpinion', reason: `unable to determine ${noun}`, error };
    }
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
