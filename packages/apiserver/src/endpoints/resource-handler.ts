import { FieldSelector, decodeListOptions, statusErrors } from '@multiplane/apimachinery';
import type { ConnectSubresource, ResourceDefinition, Subresource } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { Authorizer } from '../authorization/authorizer.ts';
import { isMetadataOnly } from '../registry/metadata-only-definition.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { viewFor } from '../registry/object-view.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import { withStorageStatus } from '../registry/storage-status.ts';
import { groupResourceOf } from '../registry/write-request.ts';
import type { Handler } from '../request-context.ts';
import { writeNotFoundText } from '../responses.ts';
import type { BodyDecoder, ExpectedKind } from './body-decoder.ts';
import type { CreateHandlers } from './create-handler.ts';
import type { CreateOutcomes } from './create-outcome.ts';
import { deleteCollectionEndpoint, deleteEndpoint } from './delete-endpoints.ts';
import { type EndpointKind, type Negotiated, endpointKinds, negotiate } from './negotiation.ts';
import { patchEndpoint } from './patch-object.ts';
import { getEndpoint, listEndpoint } from './read-object.ts';
import type { ResourceRequest } from './resource-request.ts';
import { reviewEndpoint } from './review-endpoint.ts';
import { getScaleEndpoint, patchScaleEndpoint, updateScaleEndpoint } from './scale-endpoints.ts';
import { answered } from './answered.ts';
import { locateResource } from './locate-resource.ts';
import { scanScope } from './scan-scope.ts';
import { checkObjectTransform } from './object-response.ts';
import { watchObjects } from './watch.ts';
import type { WatchHub } from './watch-hub.ts';
import { createEndpoint, updateEndpoint } from './write-object.ts';

export interface ResourceHandlerModules {
  readonly resolver: ResourceResolver;
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  readonly authorizer: Authorizer;
  /** Creates that are answered by code: reviews, `serviceaccounts/token`. */
  readonly createHandlers: CreateHandlers;
  readonly outcomes?: CreateOutcomes | undefined;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly random: () => number;
  /** What a connect subresource takes as its body. */
  readonly connectKind: (part: ConnectSubresource) => ExpectedKind;
}

interface EndpointModules extends ResourceHandlerModules {
  readonly now: () => Date;
}

/** The end of the chain for everything below `/api/<v>/` and `/apis/<g>/<v>/`. */
export function resourceHandler(_options: Record<string, never>, modules: ResourceHandlerModules): Handler {
  const endpoints: EndpointModules = { ...modules, now: () => new Date(modules.clock.now()) };
  const failed = (error: unknown): never => {
    throw withStorageStatus(error);
  };
  return (context) => {
    const request = locateResource(modules.resolver, context);
    if (request === undefined) {
      writeNotFoundText(context.exchange);
      return answered;
    }
    try {
      const served = serve(endpoints, request);
      return served === answered ? served : served.catch(failed);
    } catch (error) {
      return failed(error);
    }
  };
}

function serve(modules: EndpointModules, request: ResourceRequest): Promise<void> {
  const { context, definition, subresource } = request;
  const { verb } = context.info;
  const part = subresource === '' ? undefined : definition.subresources[subresource];
  const plain = part?.type === 'connect' || (subresource === '' && definition.storage === undefined);
  const negotiated = negotiate(context, endpointKind(kindOf(definition, part), verb, plain));
  // Over all logical clusters a custom resource is no more than metadata; whoever asks for more finds nothing (C4.3).
  if (isMetadataOnly(definition) && !isPartial(negotiated)) {
    writeNotFoundText(context.exchange);
    return answered;
  }
  if (definition.deprecationWarning !== undefined) context.warn(definition.deprecationWarning);
  if (plain) {
    const handlerKey = `${definition.group}/${definition.resource}${subresource === '' ? '' : `/${subresource}`}`;
    const handler = modules.createHandlers.get(handlerKey);
    if (handler === undefined) throw statusErrors.unknownResource();
    return reviewEndpoint(modules, request, negotiated, handler);
  }
  if (part?.type === 'scale') {
    if (verb === 'get') return getScaleEndpoint(modules, request, part, negotiated);
    return verb === 'update'
      ? updateScaleEndpoint(modules, request, part, negotiated)
      : patchScaleEndpoint(modules, request, part, negotiated);
  }
  switch (verb) {
    case 'get':
      return getEndpoint(modules, request, negotiated);
    case 'list':
      return listEndpoint(modules, request, negotiated);
    case 'watch':
      return watchEndpoint(modules, request, negotiated);
    case 'create':
      return createEndpoint(modules, request, negotiated);
    case 'update':
      return updateEndpoint(modules, request, negotiated);
    case 'patch':
      return patchEndpoint(modules, request, negotiated);
    case 'delete':
      return deleteEndpoint(modules, request, negotiated);
    case 'deletecollection':
      return deleteCollectionEndpoint(modules, request, negotiated);
    default:
      throw statusErrors.methodNotAllowed(verb, groupResourceOf(definition));
  }
}

function isPartial({ transform }: Negotiated): boolean {
  return transform?.kind === 'PartialObjectMetadata' || transform?.kind === 'PartialObjectMetadataList';
}

/** What an endpoint of a resource offers; `kind` tells built-in kinds, those brought back, and all others apart. */
function endpointKind(kind: 'builtIn' | 'native' | 'custom', verb: string, plain: boolean): EndpointKind {
  if (plain) return kind === 'builtIn' ? endpointKinds.builtInPlain : endpointKinds.customPlain;
  if (verb === 'watch') return endpointKinds[`${kind}Watch`];
  return verb === 'list' || verb === 'deletecollection' ? endpointKinds[`${kind}List`] : endpointKinds[`${kind}Object`];
}

function kindOf(
  { origin, native }: ResourceDefinition,
  part: Subresource | undefined,
): 'builtIn' | 'native' | 'custom' {
  if (origin === 'built-in') return 'builtIn';
  // A Scale is Kubernetes' own, whatever it scales.
  return native !== undefined || part?.type === 'scale' ? 'native' : 'custom';
}

async function watchEndpoint(
  modules: EndpointModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition, cluster, namespace } = request;
  const decoded = decodeListOptions(context.info.query, true);
  const options =
    request.name === '' ? decoded : { ...decoded, fieldSelector: named(decoded.fieldSelector, request.name) };
  checkObjectTransform(definition, negotiated, context);
  const { cache, reader } = modules.store.modules;
  const view = viewFor(definition, context.signal, reader);
  const scope = scanScope(definition, cluster, namespace, options, view ?? reader);
  await watchObjects(
    { cache, reader, hub: modules.hub, clock: modules.clock, random: modules.random },
    {
      context,
      definition,
      cluster,
      negotiated,
      options,
      scope,
      view,
      whenReplaced: cluster === '*' ? undefined : (gone) => modules.resolver.whenReplaced?.(cluster, definition, gone),
    },
  );
}

function named(selector: FieldSelector, name: string): FieldSelector {
  return new FieldSelector([...selector.requirements, { field: 'metadata.name', operator: '=', value: name }]);
}
