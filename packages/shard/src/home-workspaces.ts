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
import { writeObject } from '@multiplane/apiserver';
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
  type ExportLookup,
  type LogicalCluster,
  type WorkspaceTypeLookup,
} from '@multiplane/controllers';
import {
  type Authorizer,
  endpointKinds,
  type Filter,
  negotiate,
  type RequestContext,
  type RequestInfo,
} from '@multiplane/generic-server';
import { rootCluster, type LogicalClusterIndex } from './logical-cluster-index.ts';
import type { LogicalClusterWaiter } from './logical-cluster-waiter.ts';

/** The name of the caller's home workspace. */
const homeName = '~';
const homeType = { path: 'root', name: 'home' } as const;
/** How long a request waits for the home workspace before it gets 429 with Retry-After. */
const maxWaitMs = 5_000;
/** Creation time after which requests fail with 500. */
const creationLimitMs = 60_000;

interface Modules {
  readonly clusters: LogicalClusterIndex;
  readonly waiter: LogicalClusterWaiter;
  readonly client: ObjectClient;
  readonly authorizer: Authorizer;
  readonly types: WorkspaceTypeLookup;
  /** Exports of all shards. */
  readonly exports: ExportLookup;
  readonly clock: Clock;
}

/**
 * Home workspaces (kcp `pkg/server/home_workspaces.go`): GET of the Workspace `~` in root returns the caller's home workspace
 * and creates it on the first request.
 *
 * A home workspace is a logical cluster without a Workspace object. Its name is a hash of the user name, and its path is
 * `user:<name>`. Concurrent first requests create it once, because the second gets AlreadyExists. The logical cluster
 * controller initializes it like every other (owner's RBAC, namespaces, initializers).
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
    const { clusters, waiter } = this.#modules;
    if (clusters.object(cluster) === undefined) await this.#create(context, cluster);
    const home = await waiter.until(cluster, ({ status }) => status?.phase === 'Ready', maxWaitMs);
    if (home !== undefined) {
      writeObject(context, 200, workspaceOf(home, cluster), negotiate(context, endpointKinds.customPlain));
      return;
    }
    const createdAt = Date.parse(clusters.object(cluster)?.metadata.creationTimestamp ?? '');
    if (this.#modules.clock.now() - createdAt > creationLimitMs)
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

/** The Workspace in the response; it is not stored. */
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
