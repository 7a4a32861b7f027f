import { statusErrors } from '@multiplane/apimachinery';
import type { Filter } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';

/**
 * `<resource>:<identity>` in a URL asks for what is bound with that identity (C1.4, C4.3). It stands behind authorization,
 * which sees the text as it came: a rule for a resource says nothing about the same resource of a certain identity.
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
