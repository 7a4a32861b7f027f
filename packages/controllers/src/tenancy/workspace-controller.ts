import {
  isLogicalClusterName,
  isStatusError,
  type DeepReadonly,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { randomClusterName } from './cluster-name.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import {
  chosenClusterAnnotation,
  logicalClusterObjectName,
  logicalClusters,
  ownerAnnotation,
  phaseLabel,
  shardAnnotation,
  typeAnnotation,
  workspaceFinalizer,
  workspaces,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';

interface WorkspaceControllerOptions {
  readonly shardName: string;
  /** Where clients reach the shard, without a path. */
  readonly externalUrl: () => string;
  readonly randomBytes: (size: number) => Buffer;
}

interface WorkspaceControllerModules extends ControllerModules {
  /** Canonical path of a logical cluster. */
  readonly pathOf: (cluster: LogicalClusterName) => string | undefined;
}

/**
 * Gives every Workspace a logical cluster (C5.1), in two phases so that a crash between any two writes leaves nothing
 * behind: first the chosen name is written down on the Workspace, then the LogicalCluster is made under that name (made
 * already by us is as good), and only then the Workspace points to it. On deletion the LogicalCluster goes first; the
 * Workspace's finalizer falls when it is gone.
 */
export function workspaceController(
  options: WorkspaceControllerOptions,
  modules: WorkspaceControllerModules,
): Controller {
  const { informers, client, clock, pathOf } = modules;
  const lister = informers.informer<Workspace>(workspaces);
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const controller: Controller = new Controller({ name: 'workspace', reconcile, workers: 16 }, modules);
  lister.addHandlers({
    added: (_object, reference) => controller.queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  const ofCluster = (cluster: DeepReadonly<LogicalCluster>): void => {
    const owner = cluster.spec?.owner;
    if (owner?.resource === workspaces.resource && isLogicalClusterName(owner.cluster))
      controller.queue.add(keyOf({ cluster: owner.cluster, namespace: '', name: owner.name }));
  };
  clusters.addHandlers({ added: ofCluster, updated: ofCluster, deleted: ofCluster });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const workspace = lister.get(reference);
    if (workspace === undefined || workspace.spec?.mount !== undefined) return;
    if (workspace.metadata.deletionTimestamp !== undefined) return remove(workspace, reference.cluster);
    if (workspace.spec?.cluster === undefined) return schedule(workspace, reference.cluster);
    return mirrorPhase(workspace, reference.cluster);
  }

  async function schedule(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<void> {
    const { annotations = {}, finalizers = [], name = '' } = workspace.metadata;
    const chosen = annotations[chosenClusterAnnotation];
    if (chosen === undefined || !isLogicalClusterName(chosen) || !finalizers.includes(workspaceFinalizer)) {
      const metadata = {
        annotations: {
          ...annotations,
          [chosenClusterAnnotation]: randomClusterName(options.randomBytes),
          [shardAnnotation]: options.shardName,
        },
        finalizers: finalizers.includes(workspaceFinalizer) ? [...finalizers] : [...finalizers, workspaceFinalizer],
        labels: { ...workspace.metadata.labels, [phaseLabel]: 'Scheduling' },
      };
      // Its event brings the key back for the second phase.
      await client.update(workspaces, parent, mutable(workspace, { metadata }));
      return;
    }
    const parentPath = pathOf(parent);
    if (parentPath === undefined) throw new Error(`the path of logical cluster ${parent} is not known yet`);
    const path = `${parentPath}:${name}`;
    const existing =
      clusters.get({ cluster: chosen, namespace: '', name: logicalClusterObjectName }) ??
      (await createCluster(workspace, parent, chosen, path));
    if (existing.spec?.owner?.uid !== workspace.metadata.uid) {
      const { [chosenClusterAnnotation]: _taken, ...others } = annotations;
      await client.update(workspaces, parent, mutable(workspace, { metadata: { annotations: others } }));
      return;
    }
    await client.update(
      workspaces,
      parent,
      mutable(workspace, {
        spec: { ...workspace.spec, cluster: chosen, URL: `${options.externalUrl()}/clusters/${path}` },
      }),
    );
  }

  async function createCluster(
    workspace: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
    name: LogicalClusterName,
    path: string,
  ): Promise<LogicalCluster> {
    const owner = workspace.metadata.annotations?.[ownerAnnotation];
    const type = workspace.spec?.type;
    const object: LogicalCluster = {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: {
        name: logicalClusterObjectName,
        annotations: {
          'kcp.io/path': path,
          [shardAnnotation]: options.shardName,
          ...(type === undefined ? {} : { [typeAnnotation]: `${type.path ?? 'root'}:${type.name}` }),
          ...(owner === undefined ? {} : { [ownerAnnotation]: owner }),
        },
      },
      spec: {
        owner: {
          apiVersion: 'tenancy.kcp.io/v1alpha1',
          resource: workspaces.resource,
          name: workspace.metadata.name ?? '',
          cluster: parent,
          uid: workspace.metadata.uid ?? '',
        },
        ...(owner === undefined ? {} : { createdBy: createdBy(owner) }),
      },
    };
    try {
      return await client.create(logicalClusters, name, object);
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
      return await client.get(logicalClusters, {
        cluster: name,
        namespace: '',
        name: logicalClusterObjectName,
      });
    }
  }

  async function mirrorPhase(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<void> {
    const cluster = clusters.get({
      cluster: workspace.spec?.cluster as LogicalClusterName,
      namespace: '',
      name: logicalClusterObjectName,
    });
    const now = new Date(clock.now());
    let conditions = setKcpCondition(workspace.status?.conditions, { type: 'WorkspaceScheduled', status: 'True' }, now);
    let phase = workspace.status?.phase ?? 'Scheduling';
    if (cluster === undefined) {
      conditions = setKcpCondition(
        conditions,
        {
          type: 'WorkspaceInitialized',
          status: 'False',
          severity: 'Error',
          reason: 'WorkspaceDisappeared',
          message: `LogicalCluster ${workspace.spec?.cluster} not found`,
        },
        now,
      );
      if (phase === 'Ready') phase = 'Unavailable';
    } else {
      const ready = cluster.status?.phase === 'Ready';
      const initializers = cluster.status?.initializers ?? [];
      conditions = setKcpCondition(
        conditions,
        ready || initializers.length === 0
          ? { type: 'WorkspaceInitialized', status: 'True' }
          : {
              type: 'WorkspaceInitialized',
              status: 'False',
              severity: 'Info',
              reason: 'InitializerExists',
              message: `Initializers still exist: [${initializers.join(' ')}]`,
            },
        now,
      );
      phase = cluster.status?.phase ?? 'Initializing';
      if (phase === 'Scheduling') phase = 'Initializing';
    }
    if (workspace.metadata.labels?.[phaseLabel] !== phase) {
      await client.update(
        workspaces,
        parent,
        mutable(workspace, { metadata: { labels: { ...workspace.metadata.labels, [phaseLabel]: phase } } }),
      );
      return;
    }
    await updateStatus(client, workspaces, parent, workspace, {
      ...workspace.status,
      phase,
      conditions,
    } as unknown as JsonObject);
  }

  /** Other finalizers go first; then the logical cluster with all it holds; then ours. */
  async function remove(workspace: DeepReadonly<Workspace>, parent: LogicalClusterName): Promise<void> {
    const finalizers = workspace.metadata.finalizers ?? [];
    if (finalizers.length !== 1 || finalizers[0] !== workspaceFinalizer) return;
    const name = workspace.spec?.cluster ?? workspace.metadata.annotations?.[chosenClusterAnnotation];
    const reference =
      name !== undefined && isLogicalClusterName(name)
        ? { cluster: name, namespace: '', name: logicalClusterObjectName }
        : undefined;
    const cluster = reference === undefined ? undefined : clusters.get(reference);
    if (reference === undefined || cluster === undefined || cluster.spec?.owner?.uid !== workspace.metadata.uid) {
      await ignoring(['NotFound'], () =>
        client.update(workspaces, parent, mutable(workspace, { metadata: { finalizers: [] } })),
      );
      return;
    }
    if (cluster.metadata.deletionTimestamp === undefined) {
      await ignoring(['NotFound'], () => client.delete(logicalClusters, reference));
      return;
    }
    const remaining = cluster.status?.conditions?.find(({ type }) => type === 'WorkspaceContentDeleted');
    const conditions =
      remaining === undefined
        ? [...(workspace.status?.conditions ?? [])]
        : setKcpCondition(workspace.status?.conditions, remaining, new Date(clock.now()));
    await updateStatus(client, workspaces, parent, workspace, {
      ...workspace.status,
      phase: 'Deleting',
      conditions,
    } as unknown as JsonObject);
  }
  return controller;
}

/** Creator of the logical cluster, from the annotation that admission wrote. */
function createdBy(annotation: string): { username?: string } {
  const value = JSON.parse(annotation) as { username?: string };
  return typeof value.username === 'string' ? value : {};
}
