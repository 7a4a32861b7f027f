import { statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition, Verb } from '@multiplane/apis';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import { groupResourceOf } from '../registry/write-request.ts';
import type { RequestContext } from '../request-context.ts';
import type { ResourceRequest } from './resource-request.ts';

/**
 * Finds the definition and checks that the path has a shape that the kind serves (K1.2). Undefined: nobody knows the
 * path. Built-in kinds answer with a Status 404 or 405 instead.
 */
export function locateResource(
  resolver: Pick<ResourceResolver, 'resolve' | 'isBuiltInGroup'>,
  context: RequestContext,
): ResourceRequest | undefined {
  const { info, exchange } = context;
  const { cluster, group, version, resource, identity, subresource, parts } = info;
  if (cluster === undefined) return undefined;
  const definition = context.definition ?? resolver.resolve(cluster, group, version, resource, identity);
  if (definition === undefined) {
    if (resolver.isBuiltInGroup(group)) throw statusErrors.unknownResource();
    return undefined;
  }
  const builtIn = definition.origin === 'built-in';
  // A namespace object carries its own name as its namespace for authorization; it lives in none.
  const isNamespaceItself = !definition.namespaced && group === '' && resource === 'namespaces';
  const namespace = isNamespaceItself ? '' : info.namespace;
  // Not info.name: for authorization a list by the name of one object carries that name.
  const name = parts[0] ?? '';
  const request: ResourceRequest = { context, definition, cluster, namespace, name, subresource };

  if (!definition.namespaced && namespace !== '') return unknown(builtIn);
  if (parts.length > 2) return unknown(builtIn);
  if (builtIn) checkBuiltInRoute(definition, request, exchange.method);
  else if (definition.namespaced && namespace === '' && info.verb !== 'list' && info.verb !== 'watch') return undefined;
  else checkCustomRoute(definition, request);
  return request;
}

function unknown(builtIn: boolean): undefined {
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
  // A kind that is only created has no path over all namespaces at all.
  if (acrossNamespaces && !definition.verbs.includes('list')) throw statusErrors.unknownResource();
  const offered =
    method !== 'HEAD' &&
    definition.verbs.includes(verb as Verb) &&
    // The deprecated paths below /watch/ may name an object.
    (needsName === (name !== '') || verb === 'watch') &&
    !(acrossNamespaces && (verb === 'create' || verb === 'deletecollection'));
  if (!offered) throw statusErrors.methodNotOffered();
}

function checkCustomRoute(definition: ResourceDefinition, { name, subresource, context }: ResourceRequest): void {
  const { verb } = context.info;
  if (subresource !== '') {
    const part = Object.hasOwn(definition.subresources, subresource) ? definition.subresources[subresource] : undefined;
    if (part === undefined) throw statusErrors.notFound(groupResourceOf(definition), name);
    if (!part.verbs.includes(verb as Verb)) throw statusErrors.methodNotAllowed(verb, groupResourceOf(definition));
    return;
  }
  // A definition that is being deleted offers less in discovery; what it refuses, admission refuses (K8.4).
  const offered = definition.terminating === true || definition.verbs.includes(verb as Verb);
  if (!offered || verb === '') throw statusErrors.methodNotAllowed(verb, groupResourceOf(definition));
  if ((verb === 'update' || verb === 'patch') && name === '') throw statusErrors.badRequest('name must be provided');
}
