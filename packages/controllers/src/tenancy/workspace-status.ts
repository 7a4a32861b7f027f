import type { DeepReadonly, ObjectMeta } from '@multiplane/apimachinery';
import { setKcpCondition, type KcpCondition } from '../runtime/kcp-conditions.ts';
import { ownerAnnotation, phaseLabel, type LogicalCluster, type Phase, type Workspace } from './kinds.ts';
import { redactedOwner } from './owner-annotation.ts';

/** A new LogicalCluster that is missing for longer is reported as disappeared. */
const disappearedAfterMs = 60_000;
const initialized = 'WorkspaceInitialized';

type Status = NonNullable<Workspace['status']>;
type Conditions = readonly DeepReadonly<KcpCondition>[] | undefined;

/** Why a Workspace has no shard. */
export interface SchedulingFailure {
  readonly reason: 'Unschedulable' | 'Unknown';
  readonly message: string;
}

/** The status of a Workspace that cannot be scheduled: Unavailable until it can. */
export function unscheduledStatus(
  status: DeepReadonly<Status> | undefined,
  failure: SchedulingFailure,
  now: Date,
): Status {
  return withStatus(status, 'Unavailable', scheduledCondition(status?.conditions, failure, now));
}

/**
 * The status of a scheduled Workspace, from its LogicalCluster (kcp:
 * pkg/reconciler/tenancy/workspace/workspace_reconcile_phase.go). Ready is kept.
 */
export function scheduledStatus(
  workspace: DeepReadonly<Workspace>,
  cluster: DeepReadonly<LogicalCluster> | undefined,
  now: Date,
): Status {
  const { status } = workspace;
  const conditions = scheduledCondition(status?.conditions, undefined, now);
  const phase = status?.phase ?? 'Scheduling';
  if (phase !== 'Scheduling' && phase !== 'Initializing' && phase !== 'Unavailable')
    return withStatus(status, phase, conditions);
  if (cluster === undefined) {
    if (ageOf(workspace, now) < disappearedAfterMs) return withStatus(status, startedPhase(phase), conditions);
    const disappeared = setKcpCondition(
      conditions,
      {
        type: initialized,
        status: 'False',
        severity: 'Error',
        reason: 'WorkspaceDisappeared',
        message: `LogicalCluster ${workspace.spec?.cluster ?? ''} not found`,
      },
      now,
    );
    return withStatus(status, 'Unavailable', disappeared);
  }
  const lifecycle = { initializers: cluster.status?.initializers, terminators: cluster.status?.terminators };
  const initializers = cluster.status?.initializers ?? [];
  if (initializers.length > 0) {
    const waiting = setKcpCondition(
      conditions,
      {
        type: initialized,
        status: 'False',
        severity: 'Info',
        reason: 'InitializerExists',
        message: `Initializers still exist: [${initializers.join(' ')}]`,
      },
      now,
    );
    return withStatus(status, 'Initializing', waiting, lifecycle);
  }
  // The LogicalCluster becomes Ready a moment after its last initializer is removed.
  const clusterPhase = cluster.status?.phase ?? 'Scheduling';
  if (clusterPhase !== 'Ready' && clusterPhase !== 'Inactive')
    return withStatus(status, startedPhase(phase), conditions, lifecycle);
  return withStatus(
    status,
    'Ready',
    setKcpCondition(conditions, { type: initialized, status: 'True' }, now),
    lifecycle,
  );
}

/** The status of a Workspace that waits for the deletion of its logical cluster. */
export function deletionStatus(
  status: DeepReadonly<Status> | undefined,
  cluster: DeepReadonly<LogicalCluster>,
  now: Date,
): Status {
  const contentDeleted = cluster.status?.conditions?.find(({ type }) => type === 'WorkspaceContentDeleted');
  const conditions =
    contentDeleted === undefined
      ? [...(status?.conditions ?? [])]
      : setKcpCondition(status?.conditions, contentDeleted, now);
  const terminators = cluster.status?.terminators ?? [];
  return withStatus(status, terminators.length > 0 ? 'Terminating' : 'Deleting', conditions, {
    initializers: status?.initializers,
    terminators: cluster.status?.terminators,
  });
}

/** Changes of the metadata for a phase: the label, and the owner without groups once Ready. Undefined if there are none. */
export function metadataOfPhase(
  { metadata: { annotations = {}, labels = {} } }: DeepReadonly<Workspace>,
  phase: Phase,
): Partial<ObjectMeta> | undefined {
  const owner = annotations[ownerAnnotation];
  const redacted = owner === undefined || phase !== 'Ready' ? owner : redactedOwner(owner);
  // The first label is written with the choice of a shard.
  const unlabelled = labels[phaseLabel] === undefined && phase === 'Scheduling';
  if ((labels[phaseLabel] === phase || unlabelled) && redacted === owner) return undefined;
  const { [ownerAnnotation]: _owner, ...others } = annotations;
  return {
    labels: { ...labels, [phaseLabel]: phase },
    annotations: redacted === undefined ? others : { ...others, [ownerAnnotation]: redacted },
  };
}

/** Polling delay for an object of another shard: a quarter of the time it has taken so far, in [100, longestMs]. */
export function requeueDelay(sinceMs: number, longestMs: number): number {
  return Math.min(longestMs, Math.max(100, sinceMs / 4));
}

export function ageOf({ metadata }: DeepReadonly<Workspace>, now: Date): number {
  return now.getTime() - Date.parse(metadata.creationTimestamp ?? '');
}

/** The phase of a Workspace with a logical cluster: not Scheduling any more. */
const startedPhase = (phase: Phase): Phase => (phase === 'Scheduling' ? 'Initializing' : phase);

function scheduledCondition(conditions: Conditions, failure: SchedulingFailure | undefined, now: Date): KcpCondition[] {
  return setKcpCondition(
    conditions,
    failure === undefined
      ? { type: 'WorkspaceScheduled', status: 'True' }
      : { type: 'WorkspaceScheduled', status: 'False', severity: 'Error', ...failure },
    now,
  );
}

interface Lifecycle {
  readonly initializers?: readonly string[] | undefined;
  readonly terminators?: readonly string[] | undefined;
}

function withStatus(
  status: DeepReadonly<Status> | undefined,
  phase: Phase,
  conditions: KcpCondition[],
  lifecycle: Lifecycle = { initializers: status?.initializers, terminators: status?.terminators },
): Status {
  const { initializers: _initializers, terminators: _terminators, ...rest } = status ?? {};
  const list = (items: readonly string[] | undefined): string[] | undefined =>
    items === undefined || items.length === 0 ? undefined : [...items];
  const left = { initializers: list(lifecycle.initializers), terminators: list(lifecycle.terminators) };
  return {
    ...rest,
    phase,
    conditions,
    ...(left.initializers === undefined ? {} : { initializers: left.initializers }),
    ...(left.terminators === undefined ? {} : { terminators: left.terminators }),
  };
}
