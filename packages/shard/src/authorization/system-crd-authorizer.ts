import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from '@multiplane/apiserver';
import { countsAsMember } from './effective-users.ts';
import { externalLogicalClusterAdminGroup } from './required-groups.ts';

/** Status that only the control plane writes; whoever could would raise itself. */
const ownStatus: ReadonlyMap<string, string> = new Map([
  ['apibindings', 'apibinding status updates not permitted'],
  ['apiexports', 'apiexport status updates not permitted'],
]);
const endpointSlices = 'apiexportendpointslices';
const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * Keeps the status of bindings and exports from everybody (C7.7 `03-systemcrd`).
 *
 * And that of endpoint slices from those who would write it: where a provider's controllers connect to, with their
 * credentials, is for the shards to say. They write it as the external logical-cluster-admin. The reference lets the
 * owner of the slice do it (C5.15).
 */
export class SystemDefinitionsAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { isResourceRequest, group, subresource } = attributes;
    // `<resource>:<identity>` is taken apart behind this chain; it means the same resource.
    const [resource = ''] = attributes.resource.split(':', 1);
    const isStatus = isResourceRequest && group === 'apis.kcp.io' && subresource === 'status';
    const refusal = !isStatus
      ? undefined
      : resource === endpointSlices && this.#writesForeignEndpoints(attributes)
        ? 'apiexportendpointslice status updates not permitted'
        : ownStatus.get(resource);
    return refusal === undefined
      ? this.#delegate.authorize(attributes)
      : Promise.resolve({ decision: 'deny', reason: refusal });
  }

  #writesForeignEndpoints({ verb, user, cluster }: AuthorizationAttributes): boolean {
    if (!writes.has(verb)) return false;
    if (cluster === undefined || cluster === '*') return true;
    return !countsAsMember(user, cluster, [externalLogicalClusterAdminGroup]);
  }
}
