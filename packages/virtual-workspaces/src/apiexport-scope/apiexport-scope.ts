import {
  deepEqual,
  FieldSelector,
  quote,
  statusErrors,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExportScopes,
  isFieldKey,
  scopeHasResource,
  scopeInForce,
  scopeProviderGroup,
  shownKey,
  type APIExportScope,
  type ScopeInForce,
} from '@multiplane/apis';
import { checkCreateAllowed, type ResourceRequest } from '@multiplane/apiserver';
import type { Informer, ObjectReference } from '@multiplane/client';
import type { Authorizer, Exchange } from '@multiplane/generic-server';
import { parseServicePath, type VirtualWorkspace } from '@multiplane/virtual-framework';
import type { ApiExportModules } from '../apiexport/apiexport.ts';
import { ExportApiSets } from '../apiexport/export-api-sets.ts';
import { ExportAuthorizer } from '../apiexport/export-authorizer.ts';
import { exportKeyOf, type ExportKey } from '../apiexport/export-bindings.ts';
import type { ExportResource } from '../apiexport/export-resources.ts';
import { exportedResource } from '../apiexport/exported-resource.ts';
import { trackSync } from '../informer-sync.ts';

export interface ApiExportScopeModules extends ApiExportModules {
  /** APIExportScopes of all shards. */
  readonly scopes: Informer<APIExportScope>;
}

/** A scope and its object. */
interface ServedScope extends ScopeInForce {
  readonly object: DeepReadonly<APIExportScope>;
}

/**
 * The virtual workspace of an APIExportScope: what the APIExport virtual workspace has, for the objects with the label or field
 * of the scope: `/services/apiexport-scope/<cluster>/<scope>/clusters/<cluster or *>/…`.
 *
 * - The caller needs the verb of the request on `apiexportscopes/content` of the scope, in the scope's logical cluster, and
 *   nothing on the export. This is decided first: who lacks it gets 403 whether or not the scope exists.
 * - Reads select by the label, or by the field as it is stored. A resource whose storage version does not declare the field as
 *   selectable is not served. Writes carry the scope in the warrant: admission of the shard, within the write, treats other
 *   objects as missing, puts new ones into the scope, and keeps the value (`shard/src/admission/scope-labels.ts`).
 * - APIBindings are not served: they name every consumer of the export. Claimed resources are served if the scope says so.
 * - A scope that does not exist is not found. One that is not in force, or whose export is gone, has no resources. When a scope
 *   is deleted or leaves force, its watches end with 410.
 */
export function apiExportScopeWorkspace(modules: ApiExportScopeModules): VirtualWorkspace {
  const { serve, exports, schemas, bindings, scopes, reviewer } = modules;
  const apis = new ExportApiSets(
    {},
    {
      ...modules,
      exportOf: (key) => exportKeyOfScope(find(key)),
      resourceOf: (key, resource) => scopedResource(find(key), resource),
      endOf: (key) => (find(key) === undefined ? statusErrors.expired(goneText(key)) : undefined),
      serve: (key, resource, retired) =>
        exportedResource(exportKeyOfScope(find(key)) ?? key, resource, retired, {
          ...modules,
          mayCreate: (_exportKey, request) => mayCreate(key, request),
          warrantGroups: [scopeProviderGroup(key.cluster, key.name)],
        }),
    },
  );
  const access = new ExportAuthorizer(modules);
  const synced = trackSync([exports, schemas, bindings.informer, scopes]);
  const invalidate = ({ cluster, name }: ObjectReference): void => apis.invalidate({ cluster, name });
  scopes.addHandlers({
    added: (_scope, reference) => invalidate(reference),
    updated: (scope, old, reference) => {
      // Not for the counts and conditions of the status.
      if (deepEqual(definitionOf(scope), definitionOf(old))) return;
      invalidate(reference);
    },
    deleted: (_old, reference) => invalidate(reference),
  });

  function existing(key: ExportKey): DeepReadonly<APIExportScope> | undefined {
    const object = scopes.get(referenceOfKey(key));
    return object?.metadata.deletionTimestamp === undefined ? object : undefined;
  }

  function find(key: ExportKey): ServedScope | undefined {
    const object = existing(key);
    if (object === undefined) return undefined;
    const inForce = scopeInForce(object);
    return inForce === undefined ? undefined : { ...inForce, object };
  }

  function authorizerOf(key: ExportKey, exchange: Exchange): Authorizer {
    const exportKey = exportKeyOfScope(find(key));
    const isServed = exportKey !== undefined && exports.get(referenceOfKey(exportKey)) !== undefined;
    return access.authorizerOfPart(exportKey ?? missing, exchange, async (attributes, next) => {
      const { user, verb } = attributes;
      const result = await reviewer.review(exchange, user, key.cluster, {
        ...apiExportScopes,
        verb,
        subresource: 'content',
        namespace: '',
        name: key.name,
      });
      // Without an export there is nothing to authorize further: the caller may learn that.
      if (result.decision === 'allow') return isServed ? next.authorize(attributes) : result;
      const reason = `APIExportScope: "${key.name}", workspace: "${key.cluster}" RBAC decision: ${result.reason}`;
      return { ...result, decision: 'noOpinion', reason };
    });
  }

  async function mayCreate(key: ExportKey, request: ResourceRequest): Promise<void> {
    await checkCreateAllowed({ authorizer: authorizerOf(key, request.context.exchange) }, request);
  }

  return {
    name: 'apiexport-scope',
    listsRootPaths: true,
    resolve: (target) => parseServicePath(target, 'apiexport-scope', 2),
    authorize: async (attributes) => {
      await synced.promise;
      return authorizerOf(exportKeyOf(attributes.virtual.key), attributes.exchange).authorize(attributes);
    },
    handle: async (request) => {
      await synced.promise;
      const key = exportKeyOf(request.key);
      if (existing(key) === undefined) throw statusErrors.notFound(apiExportScopes, key.name);
      await apis.serve(key, (set) => serve(request, set));
    },
    check: () => {
      if (!synced.done) throw new Error('apiexport-scope virtual workspace controllers are not started');
    },
  };
}

/** What decides about the resources of a scope. */
const definitionOf = ({ metadata, spec, status }: DeepReadonly<APIExportScope>): Json => [
  metadata.uid ?? '',
  metadata.deletionTimestamp ?? '',
  (spec ?? null) as Json,
  status?.exportCluster ?? '',
  status?.identityHash ?? '',
];

const referenceOfKey = ({ cluster, name }: ExportKey): ObjectReference => ({
  cluster: cluster as LogicalClusterName,
  namespace: '',
  name,
});

const goneText = ({ name }: ExportKey): string =>
  `APIExportScope ${quote(name)} was deleted or is not in force any more`;

/** Names no export. */
const missing: ExportKey = { cluster: '', name: '' };

const exportKeyOfScope = (scope: ServedScope | undefined): ExportKey | undefined =>
  scope === undefined ? undefined : { cluster: scope.exportCluster, name: scope.exportName };

/** A resource of the export limited to the objects of the scope; undefined if the scope does not have it. */
function scopedResource(scope: ServedScope | undefined, resource: ExportResource): ExportResource | undefined {
  if (scope === undefined) return undefined;
  const { definition, claim, labelSelector } = resource;
  const { object, key, value } = scope;
  if (definition.group === apiBindings.group && definition.resource === apiBindings.resource) return undefined;
  if (claim === undefined) {
    if (!scopeHasResource(object, definition)) return undefined;
  } else if (object.spec?.permissionClaims !== 'Labelled' || labelSelector === undefined) return undefined;
  const fingerprint = `${resource.fingerprint} scope ${object.metadata.uid ?? ''}`;
  if (isFieldKey(key)) {
    const requirement = { field: shownKey(key), operator: '=', value } as const;
    return claim !== undefined || resource.selectableFields?.has(key) !== true
      ? undefined
      : { ...resource, requiredFields: new FieldSelector([requirement]).toString(), fingerprint };
  }
  const own = `${key}=${value}`;
  return { ...resource, labelSelector: labelSelector === undefined ? own : `${labelSelector},${own}`, fingerprint };
}
