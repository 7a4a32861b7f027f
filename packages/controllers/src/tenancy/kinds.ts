import type { GroupVersionResource, Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import type { KcpCondition } from './kcp-conditions.ts';

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
/** The same as a hash; kcp had it first and still writes it. */
export const shardHashAnnotation = 'internal.tenancy.kcp.io/shard';
/** Of a shard, and copied from it to the workspaces there. */
export const regionLabel = 'region';
/** Groups of which a caller must be a member (`;` is or, `,` is and); inherited by workspaces from where they are created (C6.4, C7.7). */
export const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';
export const chosenClusterAnnotation = 'internal.tenancy.kcp.io/cluster';
export const typeAnnotation = 'internal.tenancy.kcp.io/type';
export const ownerAnnotation = 'experimental.tenancy.kcp.io/owner';
/** On an object that says where a mounted workspace is: `true`. */
export const isMountAnnotation = 'experimental.tenancy.kcp.io/is-mount';
export const phaseLabel = 'tenancy.kcp.io/phase';
/** Holds a LogicalCluster while terminators are at work (C5.8). */
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
    /** In the logical cluster of the type. */
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
