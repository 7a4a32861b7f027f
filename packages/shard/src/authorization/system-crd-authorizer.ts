import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from '@multiplane/generic-server';
import { countsAsMember } from './effective-users.ts';
import { externalLogicalClusterAdminGroup } from './required-groups.ts';

/** Status that only the control plane writes: writing it would allow privilege escalation. */
const deniedStatus: ReadonlyMap<string, string> = new Map([
  ['apibindings', 'apibinding status updates not permitted'],
  ['apiexports', 'apiexport status updates not permitted'],
]);
const endpointSlices = 'apiexportendpointslices';
const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * Denies access to the status of APIBindings and APIExports (kcp `pkg/authorization/system_crd_authorizer.go`).
 *
 * Unlike kcp, it also denies writes to the status of APIExportEndpointSlices: the endpoints decide where a provider's
 * controllers send their credentials. Shards write them as the external logical cluster admin.
 */
export class SystemCrdAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { isResourceRequest, group, subresource } = attributes;
    // `<resource>:<identity>` names the same resource; the suffix is parsed after authorization.
    const [resource = ''] = attributes.resource.split(':', 1);
    const isStatus = isResourceRequest && group === 'apis.kcp.io' && subresource === 'status';
    const refusal = !isStatus
      ? undefined
      : resource === endpointSlices && this.#isDeniedEndpointWrite(attributes)
        ? 'apiexportendpointslice status updates not permitted'
        : deniedStatus.get(resource);
    return refusal === undefined
      ? this.#delegate.authorize(attributes)
      : Promise.resolve({ decision: 'deny', reason: refusal });
  }

  #isDeniedEndpointWrite({ verb, user, cluster }: AuthorizationAttributes): boolean {
    if (!writes.has(verb)) return false;
    if (cluster === undefined || cluster === '*') return true;
    return !countsAsMember(user, cluster, [externalLogicalClusterAdminGroup]);
  }
}
