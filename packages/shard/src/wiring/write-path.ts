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
  type AdmissionPlugin,
  type DecodedObjects,
  type DefinitionResolver,
  type ObjectReader,
} from '@multiplane/apiserver';
import type { APIExport, ResourceDefinition } from '@multiplane/apis';
import type { PathAndNameLookup } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { WorkspaceTypes } from '@multiplane/controllers';
import type { WatchCache } from '@multiplane/storage';
import { AuthenticationConfigurationAdmission } from '../admission/authentication-configuration-admission.ts';
import { exportClusterOf } from '../admission/bind-permission.ts';
import { LogicalClusterAdmission } from '../admission/logical-cluster-admission.ts';
import { PathAnnotation } from '../admission/path-annotation.ts';
import { ShardAdmission } from '../admission/shard-admission.ts';
import { WorkspaceAdmission } from '../admission/workspace-admission.ts';
import { WorkspaceTypeAdmission } from '../admission/workspace-type-admission.ts';
import { WorkspaceTypeExists } from '../admission/workspace-type-exists.ts';
import type { BindingIndex } from '../api-sharing/binding-index.ts';
import type { ShardAuthorization } from '../authorization/shard-authorization.ts';
import { rootCluster, type LogicalClusterIndex } from '../logical-cluster-index.ts';

interface Modules {
  readonly cache: WatchCache;
  readonly decoded: DecodedObjects;
  readonly reader: ObjectReader;
  readonly resolver: DefinitionResolver;
  readonly builtIn: readonly ResourceDefinition[];
  readonly clusters: LogicalClusterIndex;
  readonly bindings: BindingIndex;
  readonly authorization: ShardAuthorization;
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
}

/** What a write goes through behind authorization: decoding → admission → registry → store. */
export function writePath(modules: Modules): WritePath {
  const { cache, decoded, reader, resolver, builtIn, clusters, authorization, clock } = modules;
  const plugins: readonly AdmissionPlugin[] = [
    new NamespaceLifecycle(
      {},
      { cache, isClusterEnding: (cluster) => clusters.object(cluster)?.metadata.deletionTimestamp !== undefined },
    ),
    new TerminatingDefinition(),
    new CertificateApproval({}, { authorizer: authorization.reviews }),
    new CertificateSigning({}, { authorizer: authorization.reviews }),
    new CertificateSubjectRestriction(),
    new WorkspaceAdmission({ logicalCluster: (cluster) => clusters.object(cluster) }),
    new ShardAdmission(),
    new WorkspaceTypeAdmission({
      authorizer: authorization.reviews,
      // Of other shards those logical clusters are known that have exports.
      resolvePath: (path, name) => clusters.find(path) ?? exportClusterOf(modules.exports, { path, name }, rootCluster),
    }),
    new WorkspaceTypeExists({
      authorizer: authorization.reviews,
      types: modules.types,
      logicalCluster: (cluster) => clusters.object(cluster),
      pathOf: (cluster) => clusters.pathOf(cluster),
    }),
    new AuthenticationConfigurationAdmission(),
    new LogicalClusterAdmission(),
    new PathAnnotation({ pathOf: (cluster) => clusters.pathOf(cluster) }),
    new RbacEscalationCheck({ rbac: authorization.rbac, authorizer: authorization.reviews }),
    // Last of all, so that nothing is charged for what another plugin refuses (K6.1).
    new ResourceQuotaAdmission({}, { cache, reader, resolver, store: () => store }),
  ];
  const schemaWorker = new SchemaWorker({}, { clock });
  const store: ObjectStore = new ObjectStore(
    {},
    {
      cache,
      decoded,
      reader,
      resolver,
      admission: new AdmissionChain(plugins),
      clock,
      slowly: schemaWorker,
      newUid: () => randomUUID(),
    },
  );
  const builtInKinds = new Set(builtIn.map(({ group, version: served, kind }) => `${group}/${served}/${kind}`));
  const yaml = new YamlWorker({}, { clock });
  const decoder = new BodyDecoder(
    {},
    { isBuiltInKind: (group, served, kind) => builtInKinds.has(`${group}/${served}/${kind}`), yaml },
  );
  return { store, decoder, yaml, schemaWorker, client: new LoopbackClient({}, { resolver, store, decoder }) };
}
