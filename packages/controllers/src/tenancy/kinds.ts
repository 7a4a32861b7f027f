import type { GroupVersionResource, Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import type { KcpCondition } from '../runtime/kcp-conditions.ts';

export const workspaces: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaces',
};
export const workspaceTypes: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspacetypes',
};
export const authenticationConfigurations: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaceauthenticationconfigurations',
};
export const logicalClusters: GroupVersionResource = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
};

/** The only legal name of a LogicalCluster. */
export const logicalClusterObjectName = 'cluster';
export { workspaceFinalizer } from '@multiplane/apis';
export const logicalClusterFinalizer = 'core.kcp.io/logicalcluster-deletion';
export const shardAnnotation = 'core.kcp.io/shard';
/** The shard as a hash, which kcp writes besides the name. */
export const shardHashAnnotation = 'internal.tenancy.kcp.io/shard';
/** Label of a shard, copied to its workspaces. */
export const regionLabel = 'region';
/** Groups that a caller must be a member of (`;` is or, `,` is and). Workspaces inherit it from their parent. */
export const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';
export const chosenClusterAnnotation = 'internal.tenancy.kcp.io/cluster';
export const typeAnnotation = 'internal.tenancy.kcp.io/type';
export const ownerAnnotation = 'experimental.tenancy.kcp.io/owner';
export const phaseLabel = 'tenancy.kcp.io/phase';
/** On a LogicalCluster with `status.terminators`. */
export const terminatorsFinalizer = 'kcp.io/has-terminators';

export type Phase = 'Scheduling' | 'Initializing' | 'Ready' | 'Unavailable' | 'Inactive' | 'Terminating' | 'Deleting';

export type Workspace = KubeObject & {
  spec?: {
    cluster?: string;
    URL?: string;
    type?: { name: string; path?: string };
    location?: { selector?: JsonObject };
    mount?: { ref?: { apiVersion?: string; kind?: string; name?: string; namespace?: string } };
  };
  status?: { phase?: Phase; conditions?: KcpCondition[]; initializers?: string[]; terminators?: string[] };
};
export interface TypeReference {
  readonly name: string;
  readonly path?: string;
}
interface TypeLimit {
  none?: boolean;
  types?: TypeReference[];
}
interface PermissionRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}
export type WorkspaceType = KubeObject & {
  spec?: {
    initializer?: boolean;
    terminator?: boolean;
    extend?: { with?: TypeReference[] };
    additionalWorkspaceLabels?: Record<string, string>;
    defaultChildWorkspaceType?: TypeReference;
    limitAllowedChildren?: TypeLimit;
    limitAllowedParents?: TypeLimit;
    defaultAPIBindings?: { export: string; path?: string }[];
    defaultAPIBindingLifecycle?: 'InitializeOnly' | 'Maintain';
    initializerPermissions?: PermissionRule[];
    terminatorPermissions?: PermissionRule[];
    /** WorkspaceAuthenticationConfigurations in the logical cluster of the type. */
    authenticationConfigurations?: { name: string }[];
  };
  status?: { conditions?: KcpCondition[]; virtualWorkspaces?: { url: string; type: 'initializing' | 'terminating' }[] };
};
export type AuthenticationConfigurationObject = KubeObject & { spec?: { jwt?: Json[] } };
export type LogicalCluster = KubeObject & {
  spec?: {
    owner?: { apiVersion: string; resource: string; name: string; cluster: string; uid?: string };
    createdBy?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
    initializers?: string[];
    terminators?: string[];
    directlyDeletable?: boolean;
  };
  status?: {
    phase?: Phase;
    URL?: string;
    conditions?: KcpCondition[];
    initializers?: string[];
    terminators?: string[];
  };
};
