import {
  hexSha224,
  isLogicalClusterName,
  isLogicalClusterPath,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { PolicyRule } from '@multiplane/generic-server';

/** The fields of a LogicalCluster that the lifecycle uses. */
export type LogicalCluster = KubeObject & {
  spec?: { createdBy?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> } };
  status?: { phase?: string; initializers?: string[]; terminators?: string[] };
};
/** The fields of a WorkspaceType that grant permissions to its controllers. */
export type WorkspaceType = KubeObject & {
  spec?: { initializerPermissions?: PolicyRule[]; terminatorPermissions?: PolicyRule[] };
};

/**
 * One end of the workspace lifecycle, in which controllers of WorkspaceTypes take part: initialization or termination.
 */
export interface Lifecycle {
  /** Path segment after `/services/`. */
  readonly service: 'initializingworkspaces' | 'terminatingworkspaces';
  readonly noun: 'initializer' | 'terminator';
  /** Verb on the WorkspaceType that authorizes callers. */
  readonly verb: 'initialize' | 'terminate';
  readonly list: 'initializers' | 'terminators';
  readonly permissions: 'initializerPermissions' | 'terminatorPermissions';
  /** API group in errors about the list, as in kcp. */
  readonly errorGroup: string;
  /** Selector of the labels that the system sets on logical clusters that wait for `id`. */
  labelSelector(id: string): string;
  /**
   * Selector of the logical clusters that will wait for `id` at the end of their life; absent: there are none before they
   * wait. A watch by it sees the change after which a logical cluster waits as MODIFIED, as that of kcp.
   */
  memberSelector?(id: string): string;
  /** Whether a logical cluster waits for `id`. */
  isWaitingFor(cluster: DeepReadonly<LogicalCluster>, id: string): boolean;
}

/**
 * The hash is truncated to 63 characters including the prefix, as in kcp, although a label key may have 63 characters
 * after its prefix.
 */
function waitLabel(noun: Lifecycle['noun'], id: string): string {
  const prefix = `${noun}.internal.kcp.io/`;
  const hash = hexSha224(id);
  return `${prefix}${hash.slice(0, 63 - prefix.length)}=${hash}`;
}

export const initializing: Lifecycle = {
  service: 'initializingworkspaces',
  noun: 'initializer',
  verb: 'initialize',
  list: 'initializers',
  permissions: 'initializerPermissions',
  errorGroup: 'tenancy.kcp.io',
  labelSelector: (id) => `tenancy.kcp.io/phase=Initializing,${waitLabel('initializer', id)}`,
  isWaitingFor: ({ status }, id) => status?.phase === 'Initializing' && (status.initializers ?? []).includes(id),
};

export const terminating: Lifecycle = {
  service: 'terminatingworkspaces',
  noun: 'terminator',
  verb: 'terminate',
  list: 'terminators',
  permissions: 'terminatorPermissions',
  errorGroup: 'core.kcp.io',
  // The phase label follows the deletion timestamp, so that watches by label see the deletion.
  labelSelector: (id) => `tenancy.kcp.io/phase in (Terminating,Deleting),${waitLabel('terminator', id)}`,
  memberSelector: (id) => waitLabel('terminator', id),
  isWaitingFor: ({ metadata, status }, id) =>
    metadata.deletionTimestamp !== undefined && (status?.terminators ?? []).includes(id),
};

/** The logical cluster and name of the WorkspaceType of an id; undefined for an invalid id. */
export function workspaceTypeOf(id: string): { readonly cluster: string; readonly name: string } | undefined {
  const colon = id.lastIndexOf(':');
  const cluster = id.slice(0, Math.max(colon, 0));
  const name = id.slice(colon + 1);
  const isValidCluster = isLogicalClusterName(cluster) || isLogicalClusterPath(cluster);
  return isValidCluster && name !== '' ? { cluster, name } : undefined;
}

/** Ids of system initializers (`system:apibindings`) refer to no type. */
export const isSystemId = (id: string): boolean => id.startsWith('system:');

export const asLogicalCluster = (object: JsonObject): LogicalCluster => object as unknown as LogicalCluster;
