import { FieldSelector, decodeListOptions, statusErrors } from '@multiplane/apimachinery';
import type { ConnectSubresource, ResourceDefinition, Subresource, VirtualStorage } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import {
  type Authorizer,
  type EndpointKind,
  endpointKinds,
  type Handler,
  negotiate,
  type Negotiated,
  writeNotFoundText,
} from '@multiplane/generic-server';
import { isMetadataOnly } from '../registry/definitions/metadata-only-definition.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { viewFor } from '../registry/store/object-view.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { withStorageStatus } from '../registry/store/storage-status.ts';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import type { ExpectedKind } from '../write-path/decoding/expected-kind.ts';
import { hasVirtualView, withNameColumn } from './virtual-view.ts';
import type { BodyDecoder } from '../write-path/decoding/body-decoder.ts';
import type { CreateHandlers } from './create-handler.ts';
import type { CreateOutcomes } from './create-outcome.ts';
import { deleteCollectionEndpoint, deleteEndpoint } from './delete-endpoints.ts';
import { patchEndpoint } from './patch-endpoint.ts';
import { getEndpoint, listEndpoint } from './read-endpoints.ts';
import { withRequiredFields } from './required-fields.ts';
import type { ResourceRequest } from './resource-request.ts';
import { reviewEndpoint } from './review-endpoint.ts';
import { getScaleEndpoint, patchScaleEndpoint, updateScaleEndpoint } from './scale/scale-endpoints.ts';
import { completed } from './response/completed.ts';
import { locateResource } from './locate-resource.ts';
import { scanScope } from '../registry/store/scan-scope.ts';
import { checkObjectTransform } from './response/object-response.ts';
import { watchObjects } from './watch/watch-endpoint.ts';
import type { WatchHub } from './watch/watch-hub.ts';
import { patchTypeOf } from '../write-path/decoding/patch-document.ts';
import { contentTypeOf } from '../write-path/decoding/request-body.ts';
import { createEndpoint, updateEndpoint } from './write-endpoints.ts';

/** Answers requests for a resource whose definition is virtual; the request is authorized, nothing of it is read. */
export type VirtualResourceHandler = (request: ResourceRequest, virtual: VirtualStorage) => Promise<void>;

export interface ResourceHandlerModules {
  readonly resolver: ResourceResolver;
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  readonly authorizer: Authorizer;
  /** Handlers of creates that are not stored: reviews, `serviceaccounts/token`. */
  readonly createHandlers: CreateHandlers;
  readonly outcomes?: CreateOutcomes | undefined;
  /** Answers requests for virtual resources; absent: none is served. */
  readonly virtualResources?: VirtualResourceHandler | undefined;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly random: () => number;
  /** The kind of a connect subresource's body. */
  readonly connectKind: (part: ConnectSubresource) => ExpectedKind;
}

interface EndpointModules extends ResourceHandlerModules {
  readonly now: () => Date;
}

/** The end of the handler chain for all paths below `/api/<version>/` and `/apis/<group>/<version>/`. */
export function resourceHandler(modules: ResourceHandlerModules): Handler {
  const endpoints: EndpointModules = { ...modules, now: () => new Date(modules.clock.now()) };
  const failed = (error: unknown): never => {
    throw withStorageStatus(error);
  };
  return (context) => {
    // Of custom resources Kubernetes warns before it looks at what is asked of the version.
    const request = locateResource(modules.resolver, context, ({ origin, deprecationWarning }) => {
      if (origin !== 'built-in' && deprecationWarning !== undefined) context.warn(deprecationWarning);
    });
    if (request === undefined) {
      writeNotFoundText(context.exchange);
      return completed;
    }
    try {
      const served = serve(endpoints, request);
      return served === completed ? served : served.catch(failed);
    } catch (error) {
      return failed(error);
    }
  };
}

function serve(modules: EndpointModules, request: ResourceRequest): Promise<void> {
  const { context, definition, subresource } = request;
  if (definition.virtual !== undefined) {
    if (modules.virtualResources === undefined)
      throw statusErrors.serviceUnavailable('virtual resources are not served here');
    return modules.virtualResources(request, definition.virtual);
  }
  const { verb, query } = context.info;
  const part = subresource === '' ? undefined : definition.subresources[subresource];
  const plain = part?.type === 'connect' || (subresource === '' && definition.storage === undefined);
  // The type of a patch comes before that of the response.
  if (verb === 'patch') checkPatchType(request, part);
  const negotiated = withOriginalVersions(
    request,
    negotiate(context, endpointKind(kindOf(definition, part), verb, plain)),
  );
  // Over all logical clusters only the metadata of custom resources is served; as in kcp, other requests get a 404.
  if (isMetadataOnly(definition) && !isPartial(negotiated)) {
    writeNotFoundText(context.exchange);
    return completed;
  }
  if (definition.origin === 'built-in' && definition.deprecationWarning !== undefined)
    context.warn(definition.deprecationWarning);
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
  if (negotiated.transform?.kind === 'Table' && hasVirtualView(query, 'nameColumn'))
    request = { ...request, definition: withNameColumn(definition) };
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

function checkPatchType({ context, definition }: ResourceRequest, part: Subresource | undefined): void {
  const isStrategic =
    part?.type !== 'scale' && (definition.origin === 'built-in' || definition.native?.patchMeta !== undefined);
  patchTypeOf(contentTypeOf(context), definition.origin, isStrategic);
}

/**
 * Over all logical clusters, metadata names the version of its object in an annotation: clients that change the object need it,
 * and the kind of the response is that of metadata (kcp's apiserver, `response_kcp.go`).
 */
function withOriginalVersions({ cluster }: ResourceRequest, negotiated: Negotiated): Negotiated {
  const { transform } = negotiated;
  if (cluster !== '*' || transform === undefined || !isPartial(negotiated)) return negotiated;
  return { ...negotiated, transform: { ...transform, namesOriginalVersion: true } };
}

function isPartial({ transform }: Negotiated): boolean {
  return transform?.kind === 'PartialObjectMetadata' || transform?.kind === 'PartialObjectMetadataList';
}

/** The media types of an endpoint. `kind`: built-in kinds, CRDs that restore a kind of Kubernetes (native), other CRDs. */
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
  // Scale is a kind of Kubernetes, whichever kind it scales.
  return native !== undefined || part?.type === 'scale' ? 'native' : 'custom';
}

async function watchEndpoint(
  modules: EndpointModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition, cluster, namespace } = request;
  const decoded = withRequiredFields(decodeListOptions(context.info.query, true), request);
  const options =
    request.name === '' ? decoded : { ...decoded, fieldSelector: named(decoded.fieldSelector, request.name) };
  if (negotiated.transform?.kind !== 'PartialObjectMetadataList') checkObjectTransform(definition, negotiated, context);
  const { cache, reader } = modules.store.modules;
  const view = viewFor(definition, context.signal, reader);
  const scope = scanScope(definition, cluster, namespace, options, view ?? reader, cache.indexes);
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
