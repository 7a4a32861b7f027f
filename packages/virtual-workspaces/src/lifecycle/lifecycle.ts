import {
  hexSha224,
  isLogicalClusterName,
  isLogicalClusterPath,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { PolicyRule } from '@multiplane/apiserver';

/** The parts of a LogicalCluster that its lifecycle is made of (C2.4). */
export type LogicalCluster = KubeObject & {
  spec?: { createdBy?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> } };
  status?: { phase?: string; initializers?: string[]; terminators?: string[] };
};
/** The part of a WorkspaceType that says what its controllers may do (C2.2). */
export type WorkspaceType = KubeObject & {
  spec?: { initializerPermissions?: PolicyRule[]; terminatorPermissions?: PolicyRule[] };
};

/** What controllers of workspace types do at one end of a workspace's life (C8.4, C8.5). */
export interface Lifecycle {
  /** Segment behind `/services/`. */
  readonly service: 'initializingworkspaces' | 'terminatingworkspaces';
  readonly noun: 'initializer' | 'terminator';
  /** Verb on the workspace type that lets somebody in. */
  readonly verb: 'initialize' | 'terminate';
  readonly list: 'initializers' | 'terminators';
  readonly permissions: 'initializerPermissions' | 'terminatorPermissions';
  /** Group of the errors about the list, as recorded. */
  readonly errorGroup: string;
  /** Labels that the system puts on logical clusters that wait for `id`. */
  labelSelector(id: string): string;
  /** Whether a logical cluster waits for `id` now. */
  holds(cluster: DeepReadonly<LogicalCluster>, id: string): boolean;
}

/** A label key may have 63 characters behind its prefix's slash; kcp counts the prefix in, so the hash is cut (C1.2). */
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
  holds: ({ status }, id) => status?.phase === 'Initializing' && (status.initializers ?? []).includes(id),
};

export const terminating: Lifecycle = {
  service: 'terminatingworkspaces',
  noun: 'terminator',
  verb: 'terminate',
  list: 'terminators',
  permissions: 'terminatorPermissions',
  errorGroup: 'core.kcp.io',
  // The phase follows the deletion timestamp, so that watchers learn of the deletion by a label.
  labelSelector: (id) => `tenancy.kcp.io/phase in (Terminating,Deleting),${waitLabel('terminator', id)}`,
  holds: ({ metadata, status }, id) =>
    metadata.deletionTimestamp !== undefined && (status?.terminators ?? []).includes(id),
};

/** Where the type behind an id lives, and its name; undefined for a text that is no id. */
export function typeOf(id: string): { readonly cluster: string; readonly name: string } | undefined {
  const colon = id.lastIndexOf(':');
  const cluster = id.slice(0, Math.max(colon, 0));
  const name = id.slice(colon + 1);
  const isPlace = isLogicalClusterName(cluster) || isLogicalClusterPath(cluster);
  return isPlace && name !== '' ? { cluster, name } : undefined;
}

/** Ids of the system stand for no type (`system:apibindings`). */
export const isSystemId = (id: string): boolean => id.startsWith('system:');

export const asLogicalCluster = (object: JsonObject): LogicalCluster => object as unknown as LogicalCluster;
