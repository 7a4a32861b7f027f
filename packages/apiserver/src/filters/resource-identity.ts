import { statusErrors } from '@multiplane/apimachinery';
import type { Filter, RequestInfo } from '@multiplane/generic-server';

/**
 * Splits `<resource>:<identity>` in a URL, which selects objects bound with that identity. Runs after authorization, which
 * sees the unsplit text: a rule for a resource does not include the resource of a certain identity, as in kcp.
 */
export const withResourceIdentity: Filter = (next) => (context) => {
  if (context.info.resource.includes(':')) context.info = withIdentity(context.info);
  return next(context);
};

function withIdentity(info: RequestInfo): RequestInfo {
  const colon = info.resource.indexOf(':');
  const resource = info.resource.slice(0, colon);
  const identity = info.resource.slice(colon + 1);
  if (identity === '') {
    throw statusErrors.internal(new Error(`invalid resource ${JSON.stringify(resource)}: missing identity`));
  }
  const { path, query, cluster, isResourceRequest, verb, apiPrefix, group, version, namespace } = info;
  const { subresource, name, parts } = info;
  const target = { path, query, cluster, isResourceRequest, verb, apiPrefix, group, version, namespace };
  return Object.assign(target, { resource, identity, subresource, name, parts });
}
