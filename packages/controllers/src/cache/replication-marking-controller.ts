import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring } from '../runtime/update-status.ts';
import { logicalClusterObjectName, logicalClusters, workspaceTypes, type LogicalCluster } from '../tenancy/kinds.ts';
import { replicateAnnotation } from './replicated-kinds.ts';
import {
  bindsPolicySubjects,
  currentMark,
  groupsOfRules,
  markOf,
  type ClusterRole,
  type ClusterRoleBinding,
  type MarkingGroup,
} from './replication-marks.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const clusterRoles: GroupVersionResource = { ...rbac, resource: 'clusterroles' };
const clusterRoleBindings: GroupVersionResource = { ...rbac, resource: 'clusterrolebindings' };

type MarkedKind = 'clusters' | 'roles' | 'bindings';

/**
 * Keeps the annotation `internal.kcp.io/replicate` of LogicalClusters, ClusterRoles and ClusterRoleBindings (C5.10): on
 * whose behalf they are wanted on all shards. A logical cluster is when it has types or exports; a role or binding when
 * it decides who may use those.
 *
 * One controller for the three kinds. What an event brings is judged on the spot, and only what is not marked as it
 * should be is queued: a million bindings that are right cost nothing.
 *
 *   type, export            → its logical cluster
 *   mark of a cluster       → all roles and bindings in it
 *   role                    → itself; when what it grants changed, the bindings to it
 *   binding                 → itself; the role it binds to policy subjects, and a cluster that is marked
 *   role of system:admin    → the bindings to it in all logical clusters that are marked (the others at the next start)
 */
export function replicationMarkingController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const types = informers.informer(workspaceTypes);
  const exports = informers.informer(apiExports);
  const roles = informers.informer<ClusterRole>(clusterRoles);
  const bindings = informers.informer<ClusterRoleBinding>(clusterRoleBindings);
  const controller: Controller = new Controller({ name: 'replication-marking', reconcile, workers: 8 }, modules);
  const systemAdmin = 'system:admin' as LogicalClusterName;
  /** Logical clusters whose mark is not empty, as the handlers know them: few. */
  const shared = new Set<LogicalClusterName>();
  /** Names of bindings to policy subjects, by logical cluster and role. */
  const policyBindings = new Map<string, Set<string>>();

  const isShared = (cluster: LogicalClusterName): boolean => {
    const object = clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && currentMark(object) !== '';
  };
  const isSystem = (cluster: string): boolean => cluster.startsWith('system:');
  const enqueue = (kind: MarkedKind, reference: ObjectReference): void => {
    if (!isSystem(reference.cluster)) controller.queue.add(`${kind}::${keyOf(reference)}`);
  };
  /** Queues what is not marked as it should be. */
  const judge = (kind: MarkedKind, object: DeepReadonly<KubeObject>, reference: ObjectReference): void => {
    if (isSystem(reference.cluster)) return;
    if (markOf(object, groupsOf(kind, object, reference)) !== currentMark(object)) enqueue(kind, reference);
  };

  const clusterTouched = (object: DeepReadonly<LogicalCluster> | undefined, reference: ObjectReference): void => {
    const { cluster } = reference;
    const was = shared.has(cluster);
    const is = object !== undefined && currentMark(object) !== '';
    if (is) shared.add(cluster);
    else shared.delete(cluster);
    if (object !== undefined) judge('clusters', object, reference);
    if (was === is) return;
    judgeAll('roles', roles, cluster);
    judgeAll('bindings', bindings, cluster);
  };
  clusters.addHandlers({
    added: clusterTouched,
    // What else the mark depends on has handlers of its own.
    updated: (object, old, reference) => {
      if (currentMark(object) !== currentMark(old)) clusterTouched(object, reference);
    },
    deleted: (_old, reference) => clusterTouched(undefined, reference),
  });

  for (const informer of [types, exports]) {
    const touched = ({ cluster }: ObjectReference): void => {
      const reference = { cluster, namespace: '', name: logicalClusterObjectName };
      const object = clusters.get(reference);
      if (object !== undefined) judge('clusters', object, reference);
    };
    informer.addHandlers({
      added: (_object, reference) => touched(reference),
      deleted: (_old, reference) => touched(reference),
    });
  }

  const grants = (role: DeepReadonly<ClusterRole>): string => [...groupsOfRules(role.rules, true)].sort().join();
  const roleTouched = (
    role: DeepReadonly<ClusterRole> | undefined,
    old: DeepReadonly<ClusterRole> | undefined,
    { cluster, name }: ObjectReference,
  ): void => {
    if (role !== undefined) judge('roles', role, { cluster, namespace: '', name });
    if ((role === undefined ? '' : grants(role)) === (old === undefined ? '' : grants(old))) return;
    for (const concerned of cluster === systemAdmin ? shared : [cluster])
      judgeAll('bindings', bindings, concerned, ({ roleRef }) => roleRef?.name === name);
  };
  roles.addHandlers({
    added: (role, reference) => roleTouched(role, undefined, reference),
    updated: (role, old, reference) => roleTouched(role, old, reference),
    deleted: (old, reference) => roleTouched(undefined, old, reference),
  });

  const bindingTouched = (
    binding: DeepReadonly<ClusterRoleBinding> | undefined,
    old: DeepReadonly<ClusterRoleBinding> | undefined,
    reference: ObjectReference,
  ): void => {
    const { cluster, name } = reference;
    if (binding !== undefined) judge('bindings', binding, reference);
    for (const version of [old, binding]) {
      if (version === undefined || !bindsPolicySubjects(version)) continue;
      const role = { cluster, namespace: '', name: version.roleRef?.name ?? '' };
      const key = keyOf(role);
      const bound = policyBindings.get(key) ?? new Set();
      if (version === binding) bound.add(name);
      else bound.delete(name);
      if (bound.size > 0) policyBindings.set(key, bound);
      else policyBindings.delete(key);
      enqueue('roles', role);
      if (shared.has(cluster)) enqueue('clusters', { cluster, namespace: '', name: logicalClusterObjectName });
    }
  };
  bindings.addHandlers({
    added: (binding, reference) => bindingTouched(binding, undefined, reference),
    updated: (binding, old, reference) => bindingTouched(binding, old, reference),
    deleted: (old, reference) => bindingTouched(undefined, old, reference),
  });

  function judgeAll<T extends KubeObject>(
    kind: MarkedKind,
    informer: Informer<T>,
    cluster: LogicalClusterName,
    concerned: (object: DeepReadonly<T>) => boolean = () => true,
  ): void {
    for (const object of informer.list({ cluster })) {
      if (concerned(object)) judge(kind, object, { cluster, namespace: '', name: object.metadata.name ?? '' });
    }
  }

  function groupsOf(
    kind: MarkedKind,
    object: DeepReadonly<KubeObject>,
    { cluster, name }: ObjectReference,
  ): Set<MarkingGroup> {
    if (kind === 'clusters') {
      const groups = new Set<MarkingGroup>();
      if (types.list({ cluster }).length > 0) groups.add('tenancy.kcp.io');
      if (exports.list({ cluster }).length > 0 || outlives(object, cluster)) groups.add('apis.kcp.io');
      return groups;
    }
    if (kind === 'roles') {
      const groups = groupsOfRules((object as DeepReadonly<ClusterRole>).rules, isShared(cluster));
      if (policyBindings.has(keyOf({ cluster, namespace: '', name }))) groups.add('apis.kcp.io');
      return groups;
    }
    const binding = object as DeepReadonly<ClusterRoleBinding>;
    const bound = { namespace: '', name: binding.roleRef?.name ?? '' };
    const role = roles.get({ ...bound, cluster }) ?? roles.get({ ...bound, cluster: systemAdmin });
    const groups = groupsOfRules(role?.rules, isShared(cluster));
    if (bindsPolicySubjects(binding)) groups.add('apis.kcp.io');
    return groups;
  }

  /** A policy holds for those who still have bindings to exports that are gone (docs/adr/0057): what it grants stays known. */
  function outlives(object: DeepReadonly<KubeObject>, cluster: LogicalClusterName): boolean {
    return (
      currentMark(object).split(',').includes('apis.kcp.io') && bindings.list({ cluster }).some(bindsPolicySubjects)
    );
  }

  async function reconcile(key: string): Promise<void> {
    const separator = key.indexOf('::');
    const kind = key.slice(0, separator) as MarkedKind;
    const reference = referenceOf(key.slice(separator + 2));
    const [resource, object] =
      kind === 'clusters'
        ? [logicalClusters, clusters.get(reference)]
        : kind === 'roles'
          ? [clusterRoles, roles.get(reference)]
          : [clusterRoleBindings, bindings.get(reference)];
    if (object === undefined) return;
    const groups = groupsOf(kind, object, reference);
    // The index may not know all bindings yet: before a mark is taken away the bindings themselves are asked.
    if (
      kind === 'roles' &&
      bindings.list({ cluster: reference.cluster }).some((binding) => bindsTo(binding, reference))
    )
      groups.add('apis.kcp.io');
    const mark = markOf(object, groups);
    if (mark === currentMark(object)) return;
    const { uid, resourceVersion } = object.metadata;
    await ignoring(['NotFound'], () =>
      client.patch(resource, reference, 'application/merge-patch+json', {
        metadata: {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          annotations: { [replicateAnnotation]: mark === '' ? null : mark },
        },
      }),
    );
  }
  return controller;
}

const bindsTo = (binding: DeepReadonly<ClusterRoleBinding>, { name }: ObjectReference): boolean =>
  binding.roleRef?.name === name && bindsPolicySubjects(binding);
