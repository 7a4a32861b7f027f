import {
  deepEqual,
  labelSelectorFromObject,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';

const clusterRoles: GroupVersionResource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
};

type ClusterRole = KubeObject & { rules?: Json[]; aggregationRule?: { clusterRoleSelectors?: JsonObject[] } };

/**
 * Sets the rules of ClusterRoles with an aggregationRule to those of the roles that its selectors match, in the order of
 * the names and without duplicates (Kubernetes: pkg/controller/clusterroleaggregation). A change of any role requeues the
 * aggregating roles of its logical cluster.
 */
export function clusterRoleAggregationController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const roles = informers.informer<ClusterRole>(clusterRoles);
  const controller: Controller = new Controller({ name: 'clusterrole-aggregation', reconcile }, modules);
  const aggregating = new Map<LogicalClusterName, Set<string>>();

  const roleChanged = (
    role: DeepReadonly<ClusterRole>,
    reference: { cluster: LogicalClusterName; namespace: string; name: string },
    isDeleted: boolean,
  ): void => {
    const { cluster, name } = reference;
    const names = aggregating.get(cluster);
    if (role.aggregationRule !== undefined && !isDeleted) {
      if (names === undefined) aggregating.set(cluster, new Set([name]));
      else names.add(name);
    } else if (names?.delete(name) === true && names.size === 0) {
      aggregating.delete(cluster);
    }
    for (const other of aggregating.get(cluster) ?? [])
      controller.queue.add(keyOf({ cluster, namespace: '', name: other }));
  };
  roles.addHandlers({
    added: (role, reference) => roleChanged(role, reference, false),
    updated: (role, _old, reference) => roleChanged(role, reference, false),
    deleted: (role, reference) => roleChanged(role, reference, true),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const role = roles.get(reference);
    if (role?.aggregationRule === undefined) return;
    const selectors = (role.aggregationRule.clusterRoleSelectors ?? []).map((selector) =>
      labelSelectorFromObject(selector as JsonObject),
    );
    const rules: DeepReadonly<Json>[] = [];
    for (const other of roles.list({ cluster: reference.cluster })) {
      if (
        other.metadata.name === reference.name ||
        !selectors.some((selector) => selector.matches(other.metadata.labels ?? {}))
      )
        continue;
      for (const rule of other.rules ?? []) if (!rules.some((known) => deepEqual(known, rule))) rules.push(rule);
    }
    if (deepEqual(rules, role.rules ?? [])) return;
    const config = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: reference.name },
      rules: rules as Json[],
    };
    await client.patch(clusterRoles, reference, 'application/apply-patch+yaml', config, {
      fieldManager: 'clusterrole-aggregation-controller',
      force: true,
    });
  }
  return controller;
}
