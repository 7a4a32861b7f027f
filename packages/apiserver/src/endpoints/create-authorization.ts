import { mastersGroup, statusErrors } from '@multiplane/apimachinery';
import type { Authorizer } from '@multiplane/generic-server';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import type { ResourceRequest } from './resource-request.ts';

export interface CreateAuthorization {
  readonly authorizer: Authorizer;
}

/** Checks the verb `create` for an update of a missing object. Throws 403. */
export async function checkCreateAllowed({ authorizer }: CreateAuthorization, request: ResourceRequest): Promise<void> {
  const { context, definition, namespace, name } = request;
  const { user } = context;
  if (user.groups.includes(mastersGroup)) return;
  const result = await authorizer.authorize({
    user,
    cluster: request.cluster,
    verb: 'create',
    isResourceRequest: true,
    group: definition.group,
    version: definition.version,
    namespace,
    resource: definition.resource,
    subresource: request.subresource,
    name,
    path: context.info.path,
  });
  if (result.decision === 'allow') return;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const why = `User ${JSON.stringify(user.name)} cannot create resource ${JSON.stringify(definition.resource)} in API group ${JSON.stringify(definition.group)} ${scope}`;
  throw statusErrors.forbidden(
    groupResourceOf(definition),
    name,
    result.reason === '' ? why : `${why}: ${result.reason}`,
  );
}
