import { StatusError, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition, Verb } from '@multiplane/apis';
import type { RequestContext } from '@multiplane/generic-server';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import type { ResourceRequest } from './resource-request.ts';
import { unknownResource } from './unknown-resource.ts';

/**
 * Finds the definition of a path and checks that its kind serves paths of this form. Undefined for an unknown path, which
 * gets a 404 in plain text. For built-in kinds it throws a Status with code 404 or 405 instead.
 */
export function locateResource(
  resolver: Pick<ResourceResolver, 'resolve' | 'isBuiltInGroup'>,
  context: RequestContext,
  /** Called with the definition before the form of the path is checked. */
  found?: (definition: ResourceDefinition) => void,
): ResourceRequest | undefined {
  const { info, exchange } = context;
  const { cluster, group, version, resource, identity, subresource, parts } = info;
  if (cluster === undefined) return undefined;
  // The router is the only one to set it, to a definition of the resolver.
  const definition =
    (context.definition as ResourceDefinition | undefined) ??
    resolver.resolve(cluster, group, version, resource, identity);
  if (definition === undefined) {
    const error = unknownResource(resolver, group);
    if (error !== undefined) throw error;
    return undefined;
  }
  const builtIn = definition.origin === 'built-in';
  found?.(definition);
  // For authorization a Namespace object has its own name as its namespace, but it is cluster-scoped.
  const isNamespaceItself = !definition.namespaced && group === '' && resource === 'namespaces';
  const namespace = isNamespaceItself ? '' : info.namespace;
  // Not info.name: for authorization a list with a field selector for one name has that name.
  const name = parts[0] ?? '';
  const request: ResourceRequest = { context, definition, cluster, namespace, name, subresource };

  if (!definition.namespaced && namespace !== '') return unservedForm(builtIn);
  if (parts.length > 2) return unservedForm(builtIn);
  if (builtIn) checkBuiltInRoute(definition, request, exchange.method);
  else if (definition.namespaced && namespace === '' && info.verb !== 'list' && info.verb !== 'watch') return undefined;
  else checkCustomRoute(definition, request);
  return request;
}

function unservedForm(builtIn: boolean): undefined {
  if (builtIn) throw statusErrors.unknownResource();
  return undefined;
}

function checkBuiltInRoute(definition: ResourceDefinition, request: ResourceRequest, method: string): void {
  const { name, subresource, namespace, context } = request;
  const { verb } = context.info;
  if (subresource !== '') {
    const part = Object.hasOwn(definition.subresources, subresource) ? definition.subresources[subresource] : undefined;
    if (part === undefined || (definition.namespaced && namespace === '')) throw statusErrors.unknownResource();
    if (method === 'HEAD' || !part.verbs.includes(verb as Verb)) throw statusErrors.methodNotOffered();
    return;
  }
  if (name !== '' && definition.namespaced && namespace === '') throw statusErrors.unknownResource();
  const needsName = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete';
  const acrossNamespaces = definition.namespaced && namespace === '';
  // Kinds without the verb list have no path over all namespaces.
  if (acrossNamespaces && !definition.verbs.includes('list')) throw statusErrors.unknownResource();
  const offered =
    method !== 'HEAD' &&
    definition.verbs.includes(verb as Verb) &&
    // The deprecated paths below /watch/ can name an object.
    (needsName === (name !== '') || verb === 'watch') &&
    !(acrossNamespaces && (verb === 'create' || verb === 'deletecollection'));
  if (!offered) throw statusErrors.methodNotOffered();
}

function checkCustomRoute(definition: ResourceDefinition, { name, subresource, context }: ResourceRequest): void {
  const { verb } = context.info;
  if (subresource !== '') {
    const part = Object.hasOwn(definition.subresources, subresource) ? definition.subresources[subresource] : undefined;
    if (part === undefined) throw statusErrors.notFound(groupResourceOf(definition), name);
    if (!part.verbs.includes(verb as Verb)) throw notAllowed(verb, definition);
    return;
  }
  // Discovery lists fewer verbs for a terminating definition, but requests are rejected by admission, as in Kubernetes.
  const offered = definition.terminating === true || definition.verbs.includes(verb as Verb);
  if (!offered || verb === '') throw notAllowed(verb, definition);
  if ((verb === 'update' || verb === 'patch') && name === '') throw statusErrors.badRequest('name must be provided');
}

/** kcp's text; of a virtual resource it also says why nothing can be written, and whom to ask. */
function notAllowed(verb: string, definition: ResourceDefinition): StatusError {
  const resource = groupResourceOf(definition);
  const error = statusErrors.methodNotAllowed(verb, resource);
  if (definition.virtual === undefined) return error;
  const { path, name } = definition.virtual.export;
  const reason = `the resource is read-only and comes from APIExport ${path}:${name}`;
  return new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${error.message}: ${reason}`,
    details: { group: resource.group, kind: resource.resource },
  });
}
