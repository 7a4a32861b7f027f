import { randomUUID } from 'node:crypto';
import {
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
  NamespaceLifecycle,
  RbacEscalationCheck,
  ResourceQuotaAdmission,
  TerminatingDefinition,
  configuredAdmission,
  conformToKind,
  type AdmissionAttributes,
  type AdmissionPlugin,
  type ObjectStore,
  type SchemaWorker,
} from '@multiplane/apiserver';
import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExportEndpointSlices,
  apiResourceSchemas,
  cachedResources,
  type APIExport,
  type APIExportEndpointSlice,
  type APIResourceSchema,
  type CachedResource,
  type ExportedResource,
  type ResourceLocks,
  type SlowChecks,
} from '@multiplane/apis';
import { PathAndNameIndex, type RestTransport } from '@multiplane/client';
import { ApiBindingAdmission } from '../admission/api-binding-admission.ts';
import { ApiBindingFinalizer } from '../admission/api-binding-finalizer.ts';
import { ApiConversionAdmission } from '../admission/api-conversion-admission.ts';
import { ApiExportAdmission } from '../admission/api-export-admission.ts';
import { ApiExportScopeAdmission } from '../admission/api-export-scope-admission.ts';
import { ApiExportEndpointSliceAdmission } from '../admission/api-export-endpoint-slice-admission.ts';
import { ApiResourceSchemaAdmission } from '../admission/api-resource-schema-admission.ts';
import { AwaitIndexes } from '../admission/await-indexes.ts';
import { AuthenticationConfigurationAdmission } from '../admission/authentication-configuration-admission.ts';
import { exportClusterOf } from '../admission/bind-permission.ts';
import { CachedResourceAdmission } from '../admission/cached-resource-admission.ts';
import { CachedResourceSliceAdmission } from '../admission/cached-resource-slice-admission.ts';
import { CrdNoOverlapping } from '../admission/crd-no-overlapping.ts';
import { LogicalClusterAdmission } from '../admission/logical-cluster-admission.ts';
import { PathAnnotation } from '../admission/path-annotation.ts';
import { PermissionClaims } from '../admission/permission-claims.ts';
import { ReservedCrdAnnotations, ReservedCrdGroups } from '../admission/reserved-definitions.ts';
import { ReservedMetadata } from '../admission/reserved-metadata.ts';
import { ReservedNames } from '../admission/reserved-names.ts';
import { ScopeLabels } from '../admission/scope-labels.ts';
import { ShardAdmission } from '../admission/shard-admission.ts';
import { WorkspaceAdmission } from '../admission/workspace-admission.ts';
import { WorkspaceTypeAdmission } from '../admission/workspace-type-admission.ts';
import { WorkspaceTypeExists } from '../admission/workspace-type-exists.ts';
import type { ClaimLabels } from '../api-sharing/claim-labels.ts';
import { LimitAnnotations } from '../limits/limit-annotations.ts';
import { ObjectCountLimit, type StorageLimits } from '../limits/storage-limits.ts';
import type { ScopeIndex } from '../scopes/scope-index.ts';
import type { ScopeSetIndex } from '../scopes/scope-set-index.ts';
import { rootCluster } from '../logical-cluster-index.ts';
import type { ShardOptions } from '../options.ts';
import type { AccessControl } from './access-control.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';

export interface AdmissionModules extends Infrastructure, ReadPath, AccessControl {
  readonly claimLabels: ClaimLabels;
  /** Schema checks in a worker thread. */
  readonly schemaWorker: SchemaWorker;
  /** {@link schemaWorker}, without the schemas of the control plane's own kinds. */
  readonly schemaChecks: SlowChecks;
  /** Sends requests to logical clusters of other shards; undefined without a client for them. */
  readonly remoteTransport: () => Pick<RestTransport, 'open'> | undefined;
  readonly storageLimits: StorageLimits;
  /** The store that the plugins guard. */
  readonly store: () => ObjectStore;
  /** Scopes and sets of all shards. */
  readonly scopes: ScopeIndex;
  readonly scopeSets: ScopeSetIndex;
  /** Updates the resource name locks of a logical cluster in one write. */
  readonly changeLocks: (cluster: LogicalClusterName, edit: (locks: ResourceLocks) => void) => Promise<void>;
}

/** All admission plugins of a shard in their order; `--enable-admission-plugins` and its counterpart select from them. */
export function admissionPlugins(
  options: { readonly features: Pick<ShardOptions['features'], 'enabled'> },
  modules: AdmissionModules,
): readonly AdmissionPlugin[] {
  const { cache, reader, resolver, clusters, exports, types, authorization, localInformers, schemaChecks } = modules;
  const { clock, claimLabels, scopes, scopeSets: sets } = modules;
  const configured = webhooksAndPolicies(modules);
  const binders = { authorizer: authorization.reviews, exports };
  const published = modules.globalInformers.informer<CachedResource>(cachedResources);
  return [
    new AwaitIndexes({
      local: localInformers,
      remote: modules.remoteInformers,
      isGuardedByOtherShard: (attributes) => !isLocal(modules, configurationCluster(modules, attributes)),
      clock,
    }),
    new NamespaceLifecycle({
      cache,
      isClusterEnding: (cluster) => clusters.object(cluster)?.metadata.deletionTimestamp !== undefined,
    }),
    new TerminatingDefinition(),
    new CertificateApproval({ authorizer: authorization.reviews }),
    new CertificateSigning({ authorizer: authorization.reviews }),
    new CertificateSubjectRestriction(),
    new ApiResourceSchemaAdmission({ slowly: schemaChecks }),
    new WorkspaceAdmission({ logicalCluster: (cluster) => clusters.object(cluster) }),
    new ShardAdmission(),
    new WorkspaceTypeAdmission({
      authorizer: authorization.reviews,
      // Logical clusters of other shards are known by their exports only.
      resolvePath: (path, name) => clusters.find(path) ?? exportClusterOf(exports, { path, name }, rootCluster),
    }),
    new WorkspaceTypeExists({
      authorizer: authorization.reviews,
      types,
      logicalCluster: (cluster) => clusters.object(cluster),
      pathOf: (cluster) => clusters.pathOf(cluster),
    }),
    new AuthenticationConfigurationAdmission(),
    new LogicalClusterAdmission(),
    new ApiExportAdmission({
      isBound: (object, resource) => isBound(modules, object, resource),
      cacheApis: options.features.enabled('CacheAPIs'),
    }),
    new CachedResourceAdmission({
      informers: localInformers,
      isBuiltIn: (group, resource) => modules.builtIn.some((one) => one.group === group && one.resource === resource),
    }),
    new CachedResourceSliceAdmission({
      authorizer: authorization.reviews,
      cachedResources: new PathAndNameIndex({ informer: published }),
      published,
      clusterOfPath: (path) => clusters.find(path),
    }),
    new ApiConversionAdmission({ schemas: localInformers.informer<APIResourceSchema>(apiResourceSchemas) }),
    new ApiBindingAdmission(binders),
    new ApiBindingFinalizer(),
    new ApiExportEndpointSliceAdmission(binders),
    new ApiExportScopeAdmission({ ...binders, scopes }),
    configured.mutatingWebhooks,
    configured.mutatingPolicies,
    configured.validatingPolicies,
    configured.validatingWebhooks,
    configured.policyPermissions,
    new ReservedCrdAnnotations(),
    new ReservedCrdGroups(),
    new ReservedNames(),
    new CrdNoOverlapping({ clock, changeLocks: modules.changeLocks }),
    new ReservedMetadata(),
    new LimitAnnotations({ authorizer: authorization.reviews }),
    // After webhooks and policies, so that their changes of the labels follow the same rules.
    new ScopeLabels({ scopes, sets, authorizer: authorization.reviews, clock }),
    new PermissionClaims({ labels: claimLabels }),
    new PathAnnotation({ pathOf: (cluster) => clusters.pathOf(cluster) }),
    new RbacEscalationCheck({ rbac: authorization.rbac, authorizer: authorization.reviews }),
    new ObjectCountLimit({ ...modules, usage: modules.cached.usage }),
    // Last, as in Kubernetes: an object that another plugin rejects must not be charged to the quota.
    new ResourceQuotaAdmission({ cache, reader, resolver, clock, store: modules.store }),
  ];
}

/** The admission webhooks and policies that tenants configure, under kcp's plugin names. */
function webhooksAndPolicies(modules: AdmissionModules): ReturnType<typeof configuredAdmission> {
  return configuredAdmission(
    {
      mutatingWebhooks: 'apis.kcp.io/MutatingWebhook',
      mutatingPolicies: 'KCPMutatingAdmissionPolicy',
      validatingPolicies: 'KCPValidatingAdmissionPolicy',
      validatingWebhooks: 'apis.kcp.io/ValidatingWebhook',
    },
    {
      cache: modules.cache,
      reader: modules.reader,
      resolver: modules.resolver,
      informers: modules.localInformers,
      configurations: modules.globalInformers,
      configurationCluster: (attributes) => configurationCluster(modules, attributes),
      client: modules.webhooks.client,
      authorizer: modules.authorization.reviews,
      offloader: modules.schemaWorker,
      costs: modules.schemaChecks.costs,
      faults: modules.faults,
      clock: modules.clock,
      newUid: () => randomUUID(),
      conform: conformToKind,
      isLocal: (cluster) => isLocal(modules, cluster),
      remoteTransport: modules.remoteTransport,
    },
  );
}

/**
 * The logical cluster whose webhooks and policies guard a write: that of the APIExport for a bound resource, on whatever
 * shard it is (kcp's `pkg/admission/mutatingwebhook/plugin.go`), else the cluster of the request.
 */
function configurationCluster(
  { bindings }: Pick<ReadPath, 'bindings'>,
  { cluster, definition: { group, resource } }: AdmissionAttributes,
): LogicalClusterName {
  return bindings.boundResource(cluster, group, resource)?.binding.exportCluster ?? cluster;
}

function isLocal({ clusters }: Pick<ReadPath, 'clusters'>, cluster: LogicalClusterName): boolean {
  return cluster.startsWith('system:') || clusters.exists(cluster);
}

/** Whether a resource of an export is bound: here, or anywhere as far as the endpoint slices of the export tell. */
function isBound(
  { bindings, localInformers }: Pick<AdmissionModules, 'bindings' | 'localInformers'>,
  { metadata, status }: DeepReadonly<APIExport>,
  { group = '', name }: DeepReadonly<ExportedResource>,
): boolean {
  if (bindings.schemasOf(status?.identityHash ?? '', group, name).length > 0) return true;
  const cluster = metadata.annotations?.[clusterAnnotation] as LogicalClusterName | undefined;
  return localInformers
    .informer<APIExportEndpointSlice>(apiExportEndpointSlices)
    .list({ cluster })
    .some((slice) => slice.spec?.export?.name === metadata.name && (slice.status?.endpoints ?? []).length > 0);
}
