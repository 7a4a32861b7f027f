import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports, apiExportScopes } from '@multiplane/apis';
import type { Informer, InformerSource, ObjectReference } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, workspaceTypes, type LogicalCluster } from '../tenancy/kinds.ts';
import {
  bindsPolicySubjects,
  desiredReplicateAnnotation,
  groupsOfRules,
  replicateAnnotationOf,
  type ClusterRole,
  type ClusterRoleBinding,
  type ReplicatingGroup,
} from './replicate-annotation.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
export const clusterRoles: GroupVersionResource = { ...rbac, resource: 'clusterroles' };
export const clusterRoleBindings: GroupVersionResource = { ...rbac, resource: 'clusterrolebindings' };
/** Roles in this logical cluster can be bound in all others. */
export const systemAdminCluster = 'system:admin' as LogicalClusterName;

export type AnnotatedKind = 'clusters' | 'roles' | 'bindings';

/**
 * Decides for which groups LogicalClusters, ClusterRoles and ClusterRoleBindings are replicated, from the listed objects
 * and an index of the bindings to policy subjects.
 */
export class ReplicateAnnotationGroups {
  readonly clusters: Informer<LogicalCluster>;
  readonly types: Informer;
  readonly exports: Informer;
  readonly scopes: Informer;
  readonly roles: Informer<ClusterRole>;
  readonly bindings: Informer<ClusterRoleBinding>;
  /** Names of bindings to policy subjects, by the key of their role. */
  readonly #policyBindings = new Map<string, Set<string>>();

  constructor({ informers }: { readonly informers: InformerSource }) {
    this.clusters = informers.informer<LogicalCluster>(logicalClusters);
    this.types = informers.informer(workspaceTypes);
    this.exports = informers.informer(apiExports);
    this.scopes = informers.informer(apiExportScopes);
    this.roles = informers.informer<ClusterRole>(clusterRoles);
    this.bindings = informers.informer<ClusterRoleBinding>(clusterRoleBindings);
  }

  isCorrect(kind: AnnotatedKind, object: DeepReadonly<KubeObject>, reference: ObjectReference): boolean {
    return desiredReplicateAnnotation(object, this.groupsOf(kind, object, reference)) === replicateAnnotationOf(object);
  }

  groupsOf(
    kind: AnnotatedKind,
    object: DeepReadonly<KubeObject>,
    { cluster, name }: ObjectReference,
  ): Set<ReplicatingGroup> {
    if (kind === 'clusters') return this.#groupsOfCluster(object, cluster);
    if (kind === 'roles') {
      const groups = groupsOfRules((object as DeepReadonly<ClusterRole>).rules, this.#isReplicated(cluster));
      if (this.#policyBindings.has(keyOf({ cluster, namespace: '', name }))) groups.add('apis.kcp.io');
      return groups;
    }
    const binding = object as DeepReadonly<ClusterRoleBinding>;
    const roleRef = { namespace: '', name: binding.roleRef?.name ?? '' };
    const role = this.roles.get({ ...roleRef, cluster }) ?? this.roles.get({ ...roleRef, cluster: systemAdminCluster });
    const groups = groupsOfRules(role?.rules, this.#isReplicated(cluster));
    if (bindsPolicySubjects(binding)) groups.add('apis.kcp.io');
    return groups;
  }

  /** Whether a binding to policy subjects refers to a role, by the listed bindings instead of the index. */
  bindsPolicySubjectsTo({ cluster, name }: ObjectReference): boolean {
    return this.bindings
      .list({ cluster })
      .some((binding) => binding.roleRef?.name === name && bindsPolicySubjects(binding));
  }

  /** Adds a binding to policy subjects to the index, or removes it. */
  indexPolicyBinding(binding: ObjectReference, role: ObjectReference, isPresent: boolean): void {
    const key = keyOf(role);
    const names = this.#policyBindings.get(key) ?? new Set();
    if (isPresent) names.add(binding.name);
    else names.delete(binding.name);
    if (names.size > 0) this.#policyBindings.set(key, names);
    else this.#policyBindings.delete(key);
  }

  #groupsOfCluster(object: DeepReadonly<KubeObject>, cluster: LogicalClusterName): Set<ReplicatingGroup> {
    const groups = new Set<ReplicatingGroup>();
    if (this.types.list({ cluster }).length > 0) groups.add('tenancy.kcp.io');
    // A policy applies to bindings of deleted exports, too (docs/adr/0057): a cluster that has one stays replicated.
    const hasRemainingPolicy =
      replicateAnnotationOf(object).split(',').includes('apis.kcp.io') &&
      this.bindings.list({ cluster }).some(bindsPolicySubjects);
    const shares = this.exports.list({ cluster }).length > 0 || this.scopes.list({ cluster }).length > 0;
    if (shares || hasRemainingPolicy) groups.add('apis.kcp.io');
    return groups;
  }

  #isReplicated(cluster: LogicalClusterName): boolean {
    const object = this.clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && replicateAnnotationOf(object) !== '';
  }
}
