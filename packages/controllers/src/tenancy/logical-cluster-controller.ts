import type {
  DeepReadonly,
  GroupVersionResource,
  JsonObject,
  KubeObject,
  LogicalClusterName,
} from '@multiplane/apimachinery';
import { deleteContent } from '../core/delete-content.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import {
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  ownerAnnotation,
  type LogicalCluster,
  type Phase,
} from './kinds.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const clusterRoleBindings: GroupVersionResource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterrolebindings',
};
const rbacGroup = 'rbac.authorization.k8s.io';
const systemNamespaces = ['default', 'kube-system'];
const adminBinding = 'workspace-admin';
const recheckMs = 5_000;

/**
 * The life of a logical cluster (C5.4, C5.5, C5.8, C15.3): system namespaces and the creator's rights first, then Ready;
 * on deletion everything it holds goes before it does. The order of deletion keeps the rights of those who still work in
 * it until the end: RBAC of the cluster goes last.
 */
export function logicalClusterController(
  options: { readonly externalUrl: () => string },
  modules: ControllerModules,
): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<LogicalCluster>(logicalClusters);
  const controller: Controller = new Controller({ name: 'logicalcluster', reconcile, workers: 16 }, modules);
  lister.addHandlers({
    added: (_object, reference) => controller.queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster }) => {
      const reference = { cluster, namespace: '', name: logicalClusterObjectName };
      if (lister.get(reference)?.metadata.deletionTimestamp !== undefined) controller.queue.add(keyOf(reference));
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = lister.get(reference);
    if (object === undefined) return;
    const { cluster } = reference;
    if (object.metadata.deletionTimestamp !== undefined) return remove(object, cluster);
    if (!(object.metadata.finalizers ?? []).includes(logicalClusterFinalizer)) {
      const finalizers = [...(object.metadata.finalizers ?? []), logicalClusterFinalizer];
      await client.update(logicalClusters, cluster, mutable(object, { metadata: { finalizers } }));
      return;
    }
    const phase = object.status?.phase ?? 'Scheduling';
    if (phase === 'Scheduling') return setPhase(object, cluster, 'Initializing');
    if (phase !== 'Initializing') return setPhase(object, cluster, phase);
    await initialize(object, cluster);
    await setPhase(object, cluster, (object.status?.initializers ?? []).length === 0 ? 'Ready' : 'Initializing');
  }

  async function setPhase(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    phase: Phase,
  ): Promise<void> {
    const now = new Date(clock.now());
    const initializers = object.status?.initializers ?? [];
    const conditions =
      phase === 'Initializing' && initializers.length > 0
        ? setKcpCondition(
            object.status?.conditions,
            {
              type: 'WorkspaceInitialized',
              status: 'False',
              severity: 'Info',
              reason: 'InitializerExists',
              message: `Initializers still exist: [${initializers.join(' ')}]`,
            },
            now,
          )
        : phase === 'Ready'
          ? setKcpCondition(object.status?.conditions, { type: 'WorkspaceInitialized', status: 'True' }, now)
          : [...(object.status?.conditions ?? [])];
    const status = {
      ...object.status,
      phase,
      URL: `${options.externalUrl()}/clusters/${cluster}`,
      ...(conditions.length === 0 ? {} : { conditions }),
    };
    await updateStatus(client, logicalClusters, cluster, object, status as unknown as JsonObject);
  }

  /** What a workspace of any type begins with; each part may be there already. */
  async function initialize(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<void> {
    for (const name of systemNamespaces) {
      const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await ignoring(['AlreadyExists'], () => client.create(namespaces, cluster, namespace));
    }
    const user = creatorOf(object);
    if (user === undefined) return;
    const binding: KubeObject = {
      apiVersion: `${rbacGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: adminBinding },
      subjects: [{ apiGroup: rbacGroup, kind: 'User', name: user }],
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    };
    await ignoring(['AlreadyExists'], () => client.create(clusterRoleBindings, cluster, binding));
  }

  async function remove(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<number | void> {
    if (!(object.metadata.finalizers ?? []).includes(logicalClusterFinalizer)) return;
    if (object.status?.phase !== 'Deleting') {
      await setPhase(object, cluster, 'Deleting');
      return;
    }
    const last = ({ group, resource }: GroupVersionResource): boolean =>
      (group === rbacGroup && resource.startsWith('clusterrole')) ||
      (group === logicalClusters.group && resource === logicalClusters.resource);
    // What stands in namespaces is the namespace controller's work; here it only counts as what remains.
    const own = await deleteContent({ cluster, namespace: '', skip: last }, modules);
    if (own.objects.size > 0 || own.failures.length > 0) {
      const remaining = [...own.objects]
        .map(([resource, count]) => `${resource} has ${count} resource instances`)
        .sort();
      const pending = [...own.finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
      const texts = [
        ...(remaining.length === 0 ? [] : [`Some resources are remaining: ${remaining.join(', ')}`]),
        ...(pending.length === 0
          ? []
          : [`Some content in the logical cluster has finalizers remaining: ${pending.join(', ')}`]),
        ...own.failures,
      ];
      const failed = own.failures.length > 0;
      const conditions = setKcpCondition(
        object.status?.conditions,
        {
          type: 'WorkspaceContentDeleted',
          status: 'False',
          severity: failed ? 'Error' : 'Info',
          reason: failed ? 'ContentDeletionFailed' : 'SomeResourcesRemain',
          message: texts.join('; '),
        },
        new Date(clock.now()),
      );
      await updateStatus(client, logicalClusters, cluster, object, {
        ...object.status,
        conditions,
      } as unknown as JsonObject);
      return recheckMs;
    }
    const rbac = await deleteContent(
      {
        cluster,
        namespace: '',
        skip: ({ group, resource }) => group === logicalClusters.group && resource === logicalClusters.resource,
      },
      modules,
    );
    if (rbac.objects.size > 0) return recheckMs;
    const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== logicalClusterFinalizer);
    await ignoring(['NotFound'], () =>
      client.update(logicalClusters, cluster, mutable(object, { metadata: { finalizers } })),
    );
  }
  return controller;
}

function creatorOf(object: DeepReadonly<LogicalCluster>): string | undefined {
  const named = object.spec?.createdBy?.username;
  if (named !== undefined && named !== '') return named;
  const annotation = object.metadata.annotations?.[ownerAnnotation];
  if (annotation === undefined) return undefined;
  const username = (JSON.parse(annotation) as { username?: unknown }).username;
  return typeof username === 'string' && username !== '' ? username : undefined;
}
