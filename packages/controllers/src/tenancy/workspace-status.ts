import type { DeepReadonly, ObjectMeta } from '@multiplane/apimachinery';
import { setKcpCondition, type KcpCondition } from './kcp-conditions.ts';
import { ownerAnnotation, phaseLabel, type LogicalCluster, type Phase, type Workspace } from './kinds.ts';
import { shortOwner } from './new-logical-cluster.ts';

/** How long a new LogicalCluster may be out of sight before that is worth telling (C5.1). */
const disappearedAfterMs = 60_000;
const initialized = 'WorkspaceInitialized';

type Status = NonNullable<Workspace['status']>;
type Conditions = readonly DeepReadonly<KcpCondition>[] | undefined;

/** Why a Workspace has no shard. */
export interface SchedulingFailure {
  readonly reason: 'Unschedulable' | 'Unknown';
  readonly message: string;
}

/** A Workspace that nobody can place now is Unavailable until somebody can (C5.1). */
export function unscheduledStatus(
  status: DeepReadonly<Status> | undefined,
  failure: SchedulingFailure,
  now: Date,
): Status {
  return withStatus(status, 'Unavailable', scheduledCondition(status?.conditions, failure, now));
}

/** The status of a Workspace with a logical cluster, as far as that has come (C5.1, 4). A Ready one stays Ready. */
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
    if (ageOf(workspace, now) < disappearedAfterMs) return withStatus(status, begun(phase), conditions);
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
  const left = cluster.status?.initializers ?? [];
  if (left.length > 0) {
    const waiting = setKcpCondition(
      conditions,
      {
        type: initialized,
        status: 'False',
        severity: 'Info',
        reason: 'InitializerExists',
        message: `Initializers still exist: [${left.join(' ')}]`,
      },
      now,
    );
    return withStatus(status, 'Initializing', waiting, lifecycle);
  }
  // Its own controller says when it is what it should be: a moment later than its initializers are through.
  const made = cluster.status?.phase ?? 'Scheduling';
  if (made !== 'Ready' && made !== 'Inactive') return withStatus(status, begun(phase), conditions, lifecycle);
  return withStatus(
    status,
    'Ready',
    setKcpCondition(conditions, { type: initialized, status: 'True' }, now),
    lifecycle,
  );
}

/** The status of a Workspace that waits for its logical cluster to go (C5.1, 4). */
export function removalStatus(
  status: DeepReadonly<Status> | undefined,
  cluster: DeepReadonly<LogicalCluster>,
  now: Date,
): Status {
  const remaining = cluster.status?.conditions?.find(({ type }) => type === 'WorkspaceContentDeleted');
  const conditions =
    remaining === undefined ? [...(status?.conditions ?? [])] : setKcpCondition(status?.conditions, remaining, now);
  const terminators = cluster.status?.terminators ?? [];
  return withStatus(status, terminators.length > 0 ? 'Terminating' : 'Deleting', conditions, {
    initializers: status?.initializers,
    terminators: cluster.status?.terminators,
  });
}

/** The label follows the phase, the owner's details go once it is Ready (C5.1, 1). Undefined: nothing has to change. */
export function metadataOfPhase(
  { metadata: { annotations = {}, labels = {} } }: DeepReadonly<Workspace>,
  phase: Phase,
): Partial<ObjectMeta> | undefined {
  const owner = annotations[ownerAnnotation];
  const short = owner === undefined || phase !== 'Ready' ? owner : shortOwner(owner);
  // The first label comes with the choice of a shard.
  const unlabelled = labels[phaseLabel] === undefined && phase === 'Scheduling';
  if ((labels[phaseLabel] === phase || unlabelled) && short === owner) return undefined;
  const { [ownerAnnotation]: _owner, ...others } = annotations;
  return {
    labels: { ...labels, [phaseLabel]: phase },
    annotations: short === undefined ? others : { ...others, [ownerAnnotation]: short },
  };
}

/** When to look again at something that nobody tells about: often at first, ever more seldom the longer it lasts. */
export function lookAgainAfter(sinceMs: number, longestMs: number): number {
  return Math.min(longestMs, Math.max(100, sinceMs / 4));
}

export function ageOf({ metadata }: DeepReadonly<Workspace>, now: Date): number {
  return now.getTime() - Date.parse(metadata.creationTimestamp ?? '');
}

/** What could not be placed for a while has not been Ready yet, but is not where it began either. */
const begun = (phase: Phase): Phase => (phase === 'Scheduling' ? 'Initializing' : phase);

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
