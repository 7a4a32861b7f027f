import { pathAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  inheritedLimitsAnnotation,
  resourceBindingsAnnotation,
  formatLocks,
  type ResourceLocks,
} from '@multiplane/apis';
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
  /** Of the workspace type: required before Ready, and before the content is deleted. */
  readonly initializers: readonly string[];
  readonly terminators: readonly string[];
  /** What it inherits of the limits of its ancestors ({@link inheritedLimitsAnnotation}). */
  readonly limits: string | undefined;
  /** Locks on the names of resources of its default bindings. */
  readonly locks: ResourceLocks;
}

/** The LogicalCluster that the scheduler creates for a Workspace. */
export function newLogicalCluster(
  workspace: DeepReadonly<Workspace>,
  { parent, path, shard, initializers, terminators, limits, locks }: Place,
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
        ...(limits === undefined ? {} : { [inheritedLimitsAnnotation]: limits }),
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

/** `spec.createdBy`, from the annotation that admission wrote on the Workspace. */
function createdBy(annotation: string): { username?: string } {
  const value = JSON.parse(annotation) as { username?: string };
  return typeof value.username === 'string' ? value : {};
}
