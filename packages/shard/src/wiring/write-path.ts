import { randomUUID } from 'node:crypto';
import {
  AdmissionChain,
  BodyDecoder,
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
  LoopbackClient,
  NamespaceLifecycle,
  ObjectStore,
  RbacEscalationCheck,
  ResourceQuotaAdmission,
  SchemaWorker,
  TerminatingDefinition,
  YamlWorker,
  configuredAdmission,
  type AdmissionAttributes,
  type AdmissionPlugin,
  type DecodedObjects,
  type DefinitionResolver,
  type ObjectReader,
  type WebhookClient,
} from '@multiplane/apiserver';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { apiResourceSchemas, type APIExport, type APIResourceSchema, type ResourceDefinition } from '@multiplane/apis';
import type { AwaitedInformers, InformerSource, PathAndNameLookup, RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { ResourceLockKeeper, type WorkspaceTypes } from '@multiplane/controllers';
import type { WatchCache } from '@multiplane/storage';
import { ApiBindingAdmission } from '../admission/api-binding-admission.ts';
import { ApiBindingFinalizer } from '../admission/api-binding-finalizer.ts';
import { ApiConversionAdmission } from '../admission/api-conversion-admission.ts';
import { ApiExportAdmission } from '../admission/api-export-admission.ts';
import { ApiExportEndpointSliceAdmission } from '../admission/api-export-endpoint-slice-admission.ts';
import { ApiResourceSchemaAdmission } from '../admission/api-resource-schema-admission.ts';
import { AwaitIndexes } from '../admission/await-indexes.ts';
import { AuthenticationConfigurationAdmission } from '../admission/authentication-configuration-admission.ts';
import { exportClusterOf } from '../admission/bind-permission.ts';
import { CrdNoOverlapping } from '../admission/crd-no-overlapping.ts';
import { LogicalClusterAdmission } from '../admission/logical-cluster-admission.ts';
import { OwnSchemas } from '../admission/own-schemas.ts';
import { PathAnnotation } from '../admission/path-annotation.ts';
import { PermissionClaims } from '../admission/permission-claims.ts';
import { ReservedCrdAnnotations, ReservedCrdGroups } from '../admission/reserved-definitions.ts';
import { ReservedMetadata } from '../admission/reserved-metadata.ts';
import { ReservedNames } from '../admission/reserved-names.ts';
import { ShardAdmission } from '../admission/shard-admission.ts';
import { WorkspaceAdmission } from '../admission/workspace-admission.ts';
import { WorkspaceTypeAdmission } from '../admission/workspace-type-admission.ts';
import { WorkspaceTypeExists } from '../admission/workspace-type-exists.ts';
import type { BindingIndex } from '../api-sharing/binding-index.ts';
import { ClaimLabels } from '../api-sharing/claim-labels.ts';
import type { ShardAuthorization } from '../authorization/shard-authorization.ts';
import { rootCluster, type LogicalClusterIndex } from '../logical-cluster-index.ts';
import { chosenPlugins } from './admission-plugins.ts';

interface Options {
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
}

interface Modules {
  readonly cache: WatchCache;
  readonly decoded: DecodedObjects;
  readonly reader: ObjectReader;
  readonly resolver: DefinitionResolver;
  readonly builtIn: readonly ResourceDefinition[];
  readonly clusters: LogicalClusterIndex;
  readonly bindings: BindingIndex;
  readonly informers: AwaitedInformers;
  /** What all shards replicate, this one's own objects first. */
  readonly globalInformers: InformerSource;
  /** What those have of the other shards. */
  readonly foreign: AwaitedInformers;
  /** Calls the webhooks that tenants name. */
  readonly webhooks: WebhookClient;
  readonly authorization: ShardAuthorization;
  /** The way to logical clusters of other shards; undefined: there is none. */
  readonly elsewhere: () => Pick<RestTransport, 'open'> | undefined;
  /** Workspace types of all shards. */
  readonly types: WorkspaceTypes;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
  readonly clock: Clock;
}

export interface WritePath {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  /** Writes from inside, with every right, through the same stages. */
  readonly client: LoopbackClient;
  readonly yaml: YamlWorker;
  readonly schemaWorker: SchemaWorker;
  /** What claims do to labels. */
  readonly claimLabels: ClaimLabels;
}

/** What a write goes through behind authorization: decoding → admission → registry → store. */
export function writePath(options: Options, modules: Modules): WritePath {
  const { cache, decoded, reader, resolver, builtIn, clusters, authorization, clock } = modules;
  const { bindings, exports, informers } = modules;
  const schemaWorker = new SchemaWorker({}, { clock });
  const slowly = new OwnSchemas({ slowly: schemaWorker });
  const claimLabels = new ClaimLabels({ bindings });
  const isHere = (cluster: LogicalClusterName): boolean => cluster.startsWith('system:') || clusters.exists(cluster);
  // What is bound its provider watches over, wherever the consumer is (C6.13).
  const configurationCluster = ({
    cluster,
    definition: { group, resource },
  }: AdmissionAttributes): LogicalClusterName =>
    bindings.boundResource(cluster, group, resource)?.binding.exportCluster ?? cluster;
  const configured = configuredAdmission(
    {
      mutatingWebhooks: 'apis.kcp.io/MutatingWebhook',
      mutatingPolicies: 'KCPMutatingAdmissionPolicy',
      validatingPolicies: 'KCPValidatingAdmissionPolicy',
      validatingWebhooks: 'apis.kcp.io/ValidatingWebhook',
    },
    {
      cache,
      reader,
      resolver,
      informers,
      configurations: modules.globalInformers,
      configurationCluster,
      client: modules.webhooks,
      authorizer: authorization.reviews,
      slowly: schemaWorker,
      clock,
      newUid: () => randomUUID(),
      shape: (document, definition) => decoder.shapeDocument(document, definition),
      isHere,
      elsewhere: modules.elsewhere,
    },
  );
  const binders = { authorizer: authorization.reviews, exports };
  const plugins: readonly AdmissionPlugin[] = [
    new AwaitIndexes({
      own: informers,
      foreign: modules.foreign,
      isGuardedElsewhere: (attributes) => !isHere(configurationCluster(attributes)),
      clock,
    }),
    new NamespaceLifecycle(
      {},
      { cache, isClusterEnding: (cluster) => clusters.object(cluster)?.metadata.deletionTimestamp !== undefined },
    ),
    new TerminatingDefinition(),
    new CertificateApproval({}, { authorizer: authorization.reviews }),
    new CertificateSigning({}, { authorizer: authorization.reviews }),
    new CertificateSubjectRestriction(),
    new ApiResourceSchemaAdmission({ slowly }),
    new WorkspaceAdmission({ logicalCluster: (cluster) => clusters.object(cluster) }),
    new ShardAdmission(),
    new WorkspaceTypeAdmission({
      authorizer: authorization.reviews,
      // Of other shards those logical clusters are known that have exports.
      resolvePath: (path, name) => clusters.find(path) ?? exportClusterOf(exports, { path, name }, rootCluster),
    }),
    new WorkspaceTypeExists({
      authorizer: authorization.reviews,
      types: modules.types,
      logicalCluster: (cluster) => clusters.object(cluster),
      pathOf: (cluster) => clusters.pathOf(cluster),
    }),
    new AuthenticationConfigurationAdmission(),
    new LogicalClusterAdmission(),
    new ApiExportAdmission(),
    new ApiConversionAdmission({ schemas: informers.informer<APIResourceSchema>(apiResourceSchemas) }),
    new ApiBindingAdmission(binders),
    new ApiBindingFinalizer(),
    new ApiExportEndpointSliceAdmission(binders),
    configured.mutatingWebhooks,
    configured.mutatingPolicies,
    configured.validatingPolicies,
    configured.validatingWebhooks,
    configured.policyPermissions,
    new ReservedCrdAnnotations(),
    new ReservedCrdGroups(),
    new ReservedNames(),
    new CrdNoOverlapping({ clock, changeLocks: (cluster, edit) => locks.change(cluster, edit) }),
    new ReservedMetadata(),
    new PermissionClaims({ labels: claimLabels }),
    new PathAnnotation({ pathOf: (cluster) => clusters.pathOf(cluster) }),
    new RbacEscalationCheck({ rbac: authorization.rbac, authorizer: authorization.reviews }),
    // Last of all, so that nothing is charged for what another plugin refuses (K6.1).
    new ResourceQuotaAdmission({}, { cache, reader, resolver, store: () => store }),
  ];
  const store: ObjectStore = new ObjectStore(
    {},
    {
      cache,
      decoded,
      reader,
      resolver,
      admission: new AdmissionChain(
        chosenPlugins(plugins, { enable: options.enableAdmissionPlugins, disable: options.disableAdmissionPlugins }),
      ),
      clock,
      slowly,
      newUid: () => randomUUID(),
    },
  );
  const builtInKinds = new Set(builtIn.map(({ group, version: served, kind }) => `${group}/${served}/${kind}`));
  const yaml = new YamlWorker({}, { clock });
  const decoder = new BodyDecoder(
    {},
    { isBuiltInKind: (group, served, kind) => builtInKinds.has(`${group}/${served}/${kind}`), yaml },
  );
  const client = new LoopbackClient({}, { resolver, store, decoder });
  const locks = new ResourceLockKeeper({ informers, client, clock });
  return { store, decoder, yaml, schemaWorker, claimLabels, client };
}
