import type { DeepReadonly, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { parseQualifiedType, type LogicalCluster, type WorkspaceTypeLookup } from '@multiplane/controllers';
import type { PolicyRule } from '@multiplane/generic-server';

const lifecycleGroup = /^system:kcp:(initializer|terminator):(.+)$/;
const none: readonly never[] = [];

/** The RBAC rules of a workspace type's controller in a logical cluster; undefined for all other users. */
export type LifecycleRules = (
  user: UserInfo,
  cluster: LogicalClusterName,
) => readonly DeepReadonly<PolicyRule>[] | undefined;

/**
 * Rules for the controllers of workspace types (kcp `pkg/authorization/lifecycle_permissions.go`). The initializing and
 * terminating virtual workspaces add a group that names initializer or terminator. The rules come from the WorkspaceType, and
 * apply only while the logical cluster waits for that initializer or terminator.
 */
export function lifecycleRules(modules: {
  readonly types: WorkspaceTypeLookup;
  readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
}): LifecycleRules {
  return (user, cluster) => {
    let rules: readonly DeepReadonly<PolicyRule>[] | undefined;
    for (const group of user.groups) {
      if (!group.startsWith('system:kcp:')) continue;
      const [, role, id = ''] = lifecycleGroup.exec(group) ?? [];
      if (role === undefined || !isAwaited(modules.logicalCluster(cluster), role, id)) continue;
      const place = parseQualifiedType(id);
      const type = place === undefined ? undefined : modules.types.byPathAndName(place.path, place.name);
      const granted = role === 'initializer' ? type?.spec?.initializerPermissions : type?.spec?.terminatorPermissions;
      rules = [...(rules ?? none), ...(granted ?? none)];
    }
    return rules;
  };
}

function isAwaited(object: DeepReadonly<LogicalCluster> | undefined, role: string, id: string): boolean {
  if (object === undefined) return false;
  const { status, metadata } = object;
  return role === 'initializer'
    ? status?.phase === 'Initializing' && (status.initializers ?? []).includes(id)
    : metadata.deletionTimestamp !== undefined && (status?.terminators ?? []).includes(id);
}
