import { isJsonObject, pathAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import { resourceBindingsAnnotation, formatLocks, type ResourceLocks } from '@multiplane/apis';
import {
  logicalClusterObjectName,
  ownerAnnotation,
  requiredGroupsAnnotation,
  shardAnnotation,
  typeAnnotation,
  workspaces,
  type LogicalCluster,
  type Workspace,
} from './kinds.ts';

interface Place {
  readonly parent: LogicalClusterName;
  /** Canonical path of the new logical cluster. */
  readonly path: string;
  readonly shard: string;
  /** What it waits for before it is Ready, and before it is gone. */
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
  /** Names of resources that its default bindings will have. */
  readonly locks: ResourceLocks;
}

/** The LogicalCluster of a Workspace as it is made (C5.1, phase B). */
export function newLogicalCluster(
  workspace: DeepReadonly<Workspace>,
  { parent, path, shard, initializers, terminators, locks }: Place,
): LogicalCluster {
  const annotations = workspace.metadata.annotations ?? {};
  const owner = annotations[ownerAnnotation];
  const groups = annotations[requiredGroupsAnnotation];
  const type = workspace.spec?.type;
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: {
      name: logicalClusterObjectName,
      annotations: {
        [pathAnnotation]: path,
        [shardAnnotation]: shard,
        [resourceBindingsAnnotation]: formatLocks(locks),
        ...(type === undefined ? {} : { [typeAnnotation]: `${type.path ?? 'root'}:${type.name}` }),
        ...(owner === undefined ? {} : { [ownerAnnotation]: owner }),
        ...(groups === undefined ? {} : { [requiredGroupsAnnotation]: groups }),
      },
    },
    spec: {
      owner: {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        resource: workspaces.resource,
        name: workspace.metadata.name ?? '',
        cluster: parent,
        uid: workspace.metadata.uid ?? '',
      },
      ...(owner === undefined ? {} : { createdBy: createdBy(owner) }),
      ...(initializers.length === 0 ? {} : { initializers: [...initializers] }),
      ...(terminators.length === 0 ? {} : { terminators: [...terminators] }),
    },
  };
}

/** Creator of the logical cluster, from the annotation that admission wrote. */
function createdBy(annotation: string): { username?: string } {
  const value = JSON.parse(annotation) as { username?: string };
  return typeof value.username === 'string' ? value : {};
}

/** The owner annotation of a Workspace that is Ready: the name alone; undefined for one that cannot be read (C5.1). */
export function shortOwner(annotation: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(annotation);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || typeof value['username'] !== 'string') return undefined;
  return JSON.stringify({ username: value['username'] });
}
