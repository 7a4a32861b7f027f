import type { DeepReadonly, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { PolicyRule } from '@multiplane/apiserver';
import { parseQualifiedType, type LogicalCluster, type WorkspaceTypes } from '@multiplane/controllers';

const lifecycleGroup = /^system:kcp:(initializer|terminator):(.+)$/;
const none: readonly never[] = [];

/** The rights somebody has in a logical cluster because they work for a type of it; undefined: they do not. */
export type LifecycleRules = (
  user: UserInfo,
  cluster: LogicalClusterName,
) => readonly DeepReadonly<PolicyRule>[] | undefined;

/**
 * Controllers of workspace types come through virtual workspaces, which mark them by a group (C8.4, C8.5). The mark says
 * what for, not what: that is read from the type here, as long as the logical cluster waits for it. So a controller can
 * hand out no more rights than its type gives it, and none once it is through.
 */
export function lifecycleRules(modules: {
  readonly types: WorkspaceTypes;
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
