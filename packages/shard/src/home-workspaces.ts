import {
  asLogicalClusterName,
  homeClusterName,
  isStatusError,
  pathAnnotation,
  quote,
  statusErrors,
  type DeepReadonly,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import {
  endpointKinds,
  negotiate,
  writeObject,
  type Authorizer,
  type Filter,
  type RequestContext,
  type RequestInfo,
} from '@multiplane/apiserver';
import { resourceBindingsAnnotation, formatLocks, type ResourceLocks } from '@multiplane/apis';
import type { ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  defaultLocks,
  lifecycleOf,
  logicalClusterObjectName,
  logicalClusters,
  ownerAnnotation,
  resolveTypeClosure,
  shardAnnotation,
  typeAnnotation,
  workspaces,
  type Exports,
  type LogicalCluster,
  type WorkspaceTypes,
} from '@multiplane/controllers';
import { rootCluster, type LogicalClusterIndex } from './logical-cluster-index.ts';
import type { LogicalClusterWaits } from './logical-cluster-waits.ts';

/** Stands for the workspace of whoever asks. */
export const homeName = '~';
const homeType = { path: 'root', name: 'home' } as const;
/** How long a request waits for its home to be ready before it is told to come back. */
const patienceMs = 5_000;
/** A home that took this long has failed (C12.6). */
const creationLimitMs = 60_000;

interface Modules {
  readonly clusters: LogicalClusterIndex;
  readonly waits: LogicalClusterWaits;
  readonly client: ObjectClient;
  readonly authorizer: Authorizer;
  readonly types: WorkspaceTypes;
  /** Exports of all shards. */
  readonly exports: Exports;
  readonly clock: Clock;
}

/**
 * Home workspaces (C12.6): GET of the workspace `~` in root answers with the caller's own, and makes it the first time.
 *
 * A home is a logical cluster and nothing else: its name is a hash of the user's, no Workspace stands for it, and its
 * path is `user:<name>`. Two requests that come first at once make one: the second finds that it exists. What it needs
 * (rights of its owner, namespaces, initializers) is the logical cluster controller's work, as for every other.
 */
export class HomeWorkspaces {
  readonly #shardName: string;
  readonly #modules: Modules;

  constructor(options: { readonly shardName: string }, modules: Modules) {
    this.#shardName = options.shardName;
    this.#modules = modules;
  }

  readonly filter: Filter = (next) => (context) =>
    isHomeRequest(context.info) ? this.#answer(context) : next(context);

  async #answer(context: RequestContext): Promise<void> {
    const { user, exchange } = context;
    const cluster = asLogicalClusterName(homeClusterName(user.name));
    const { clusters, waits } = this.#modules;
    if (clusters.object(cluster) === undefined) await this.#create(context, cluster);
    const home = await waits.until(cluster, ({ status }) => status?.phase === 'Ready', patienceMs);
    if (home !== undefined) {
      writeObject(context, 200, workspaceOf(home, cluster), negotiate(context, endpointKinds.customPlain));
      return;
    }
    const begun = Date.parse(clusters.object(cluster)?.metadata.creationTimestamp ?? '');
    if (this.#modules.clock.now() - begun > creationLimitMs)
      throw statusErrors.untyped('home workspace creation timeout');
    exchange.setHeader('retry-after', '1');
    throw statusErrors.tooManyRequests('Creating the home workspace', 1);
  }

  async #create(context: RequestContext, cluster: LogicalClusterName): Promise<void> {
    const { user } = context;
    await this.#requirePermission(context);
    const { initializers, terminators, locks } = this.#lifecycle(cluster);
    const object: LogicalCluster = {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: {
        name: logicalClusterObjectName,
        annotations: {
          [ownerAnnotation]: JSON.stringify(creator(user)),
          [typeAnnotation]: `${homeType.path}:${homeType.name}`,
          [pathAnnotation]: `user:${user.name}`,
          [shardAnnotation]: this.#shardName,
          [resourceBindingsAnnotation]: formatLocks(locks),
        },
      },
      spec: {
        createdBy: creator(user),
        ...(initializers.length === 0 ? {} : { initializers: [...initializers] }),
        ...(terminators.length === 0 ? {} : { terminators: [...terminators] }),
      },
    };
    try {
      await this.#modules.client.create(logicalClusters, cluster, object);
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
  }

  async #requirePermission({ user, exchange }: RequestContext): Promise<void> {
    const { group, version, resource } = workspaces;
    const { decision } = await this.#modules.authorizer.authorize({
      user,
      cluster: rootCluster,
      verb: 'create',
      isResourceRequest: true,
      group,
      version,
      resource,
      namespace: '',
      subresource: '',
      name: homeName,
      path: '',
    });
    if (decision === 'allow') return;
    exchange.setHeader('x-content-type-options', 'nosniff');
    throw statusErrors.forbidden(
      workspaces,
      homeName,
      `User ${quote(user.name)} cannot create resource "workspaces" in API group "tenancy.kcp.io" at the cluster scope: workspace access not permitted`,
    );
  }

  #lifecycle(cluster: LogicalClusterName): ReturnType<typeof lifecycleOf> & { readonly locks: ResourceLocks } {
    const { types, exports } = this.#modules;
    const type = types.byPathAndName(homeType.path, homeType.name);
    if (type === undefined) throw statusErrors.untyped('the workspace type root:home does not exist');
    const closure = resolveTypeClosure(types, type);
    return { ...lifecycleOf(closure), locks: defaultLocks(cluster, closure, exports) };
  }
}

function isHomeRequest(info: RequestInfo): boolean {
  return (
    info.name === homeName &&
    info.cluster === rootCluster &&
    info.verb === 'get' &&
    info.group === workspaces.group &&
    info.resource === workspaces.resource &&
    (info.subresource === '' || info.subresource === 'status')
  );
}

const creator = ({ name, uid, groups, extra }: UserInfo) => ({
  username: name,
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
  ...(Object.keys(extra).length === 0
    ? {}
    : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
});

/** The Workspace that nobody stores. */
function workspaceOf({ metadata, status }: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): object {
  return {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name: metadata.name, creationTimestamp: metadata.creationTimestamp },
    spec: { cluster, URL: status?.URL ?? '' },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      ...(status?.conditions === undefined ? {} : { conditions: status.conditions }),
      ...(status?.initializers === undefined ? {} : { initializers: status.initializers }),
    },
  };
}
