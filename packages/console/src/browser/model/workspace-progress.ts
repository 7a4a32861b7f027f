import type { Condition, KubeObject } from '../data/kube-object.ts';
import type { Workspace } from './workspace.ts';

export interface ProgressStep {
  readonly title: string;
  readonly state: 'done' | 'current' | 'waiting' | 'failed';
  /** What is waited for, or what is wrong. */
  readonly details: readonly string[];
}

/** The part of a LogicalCluster that tells how far it is. */
export interface ProgressSource extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly initializers?: readonly string[];
    readonly terminators?: readonly string[];
    readonly conditions?: readonly Condition[];
  };
}

const ownFinalizer = 'core.kcp.io/logicalcluster';

const notTrue = (object: ProgressSource | Workspace | undefined): readonly string[] =>
  (object?.status?.conditions ?? [])
    .filter(({ status, message }) => status !== 'True' && message !== undefined && message !== '')
    .map(({ type, message }) => `${type}: ${message}`);

/**
 * What a workspace that is being created or deleted has behind it and is waiting for; empty for one that is ready. The
 * LogicalCluster tells more than the Workspace, to those who may read it.
 */
export function workspaceProgress(
  workspace: Workspace | undefined,
  logicalCluster: ProgressSource | undefined,
): readonly ProgressStep[] {
  const isDeleted =
    workspace?.metadata.deletionTimestamp !== undefined || logicalCluster?.metadata.deletionTimestamp !== undefined;
  if (isDeleted) return deletion(workspace, logicalCluster);
  const phase =
    workspace?.status?.phase ?? logicalCluster?.status?.phase ?? (workspace === undefined ? 'Ready' : 'Scheduling');
  if (phase === 'Ready') return [];
  if (phase === 'Unavailable')
    return [{ title: 'Unavailable', state: 'failed', details: [...notTrue(workspace), ...notTrue(logicalCluster)] }];
  const isScheduled = phase !== 'Scheduling';
  const initializers = workspace?.status?.initializers ?? logicalCluster?.status?.initializers ?? [];
  return [
    {
      title: 'Find a shard for it',
      state: isScheduled ? 'done' : 'current',
      details: isScheduled ? [] : notTrue(workspace),
    },
    {
      title: 'Initialize it',
      state: isScheduled ? 'current' : 'waiting',
      details: isScheduled
        ? [...initializers.map((name) => `waits for the initializer ${name}`), ...notTrue(logicalCluster)]
        : [],
    },
    { title: 'Ready to use', state: 'waiting', details: [] },
  ];
}

/** The contents go once nobody else holds the workspace. */
function deletion(
  workspace: Workspace | undefined,
  logicalCluster: ProgressSource | undefined,
): readonly ProgressStep[] {
  const finalizers = (workspace?.metadata.finalizers ?? []).filter((name) => name !== ownFinalizer);
  const terminators = logicalCluster?.status?.terminators ?? workspace?.status?.terminators ?? [];
  const holders = [
    ...finalizers.map((name) => `waits for the finalizer ${name}`),
    ...terminators.map((name) => `waits for the terminator ${name}`),
  ];
  const isHeld = holders.length > 0;
  const isEmpty = logicalCluster === undefined && workspace?.metadata.finalizers?.includes(ownFinalizer) !== true;
  return [
    { title: 'Controllers clean up what they own', state: isHeld ? 'current' : 'done', details: holders },
    {
      title: 'Delete everything in it',
      state: isHeld ? 'waiting' : isEmpty ? 'done' : 'current',
      details: [...new Set([...notTrue(logicalCluster), ...notTrue(workspace)])],
    },
    { title: 'Remove the workspace', state: !isHeld && isEmpty ? 'current' : 'waiting', details: [] },
  ];
}
