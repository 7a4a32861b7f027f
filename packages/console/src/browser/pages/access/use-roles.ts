import { useMemo } from 'react';
import type { LiveSnapshot } from '../../data/live-list.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { grantsOf, type Grant, type Role, type RoleBinding } from '../../model/access-grants.ts';

const group = { group: 'rbac.authorization.k8s.io', version: 'v1' };

interface Roles {
  readonly clusterRoles: LiveSnapshot<Role>;
  readonly roles: LiveSnapshot<Role>;
}

/** The roles of a workspace, live. */
export function useRoles(cluster: string): Roles {
  const clusterRoles = useObjects<Role>({ cluster, ...group, resource: 'clusterroles' });
  const roles = useObjects<Role>({ cluster, ...group, resource: 'roles' });
  return { clusterRoles, roles };
}

/** What the bindings of a workspace grant, live. */
export function useGrants(cluster: string): {
  readonly grants: readonly Grant[];
  readonly isSynced: boolean;
  readonly failure: Error | undefined;
} {
  const { clusterRoles, roles } = useRoles(cluster);
  const clusterBindings = useObjects<RoleBinding>({ cluster, ...group, resource: 'clusterrolebindings' });
  const bindings = useObjects<RoleBinding>({ cluster, ...group, resource: 'rolebindings' });
  const grants = useMemo(
    () =>
      grantsOf({
        bindings: [...clusterBindings.items, ...bindings.items],
        clusterRoles: clusterRoles.items,
        roles: roles.items,
      }),
    [clusterBindings.items, bindings.items, clusterRoles.items, roles.items],
  );
  return {
    grants,
    isSynced: clusterBindings.isSynced && bindings.isSynced && clusterRoles.isSynced && roles.isSynced,
    failure: clusterBindings.failure ?? bindings.failure ?? clusterRoles.failure ?? roles.failure,
  };
}
