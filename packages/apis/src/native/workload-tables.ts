import type { Json } from '@multiplane/apimachinery';
import { at, listAt, numberAt, objectAt, textAt } from '../fields.ts';
import { column } from '../tables/columns.ts';
import {
  age,
  countColumn,
  durationBetween,
  labelsText,
  nativeTable,
  none,
  selectorColumn,
  selectorText,
  sinceText,
  templateColumns,
  textColumn,
  unset,
  wideColumn,
  type NativeColumn,
  type NativeObject,
} from './cells.ts';

const count = (object: NativeObject, ...path: readonly string[]): number => Number(numberAt(object, ...path) ?? 0);

const readyOfReplicas: NativeColumn = textColumn(
  'Ready',
  (object) => `${count(object, 'status', 'readyReplicas')}/${count(object, 'spec', 'replicas')}`,
  'How many replicas are ready, and how many are wanted.',
);
const replicaCounts: readonly NativeColumn[] = [
  countColumn('Desired', 'spec', 'replicas'),
  countColumn('Current', 'status', 'replicas'),
  countColumn('Ready', 'status', 'readyReplicas'),
];

export const deploymentTable = nativeTable(
  readyOfReplicas,
  countColumn('Up-to-date', 'status', 'updatedReplicas'),
  countColumn('Available', 'status', 'availableReplicas'),
  age,
  ...templateColumns(),
  selectorColumn,
);

export const replicaSetTable = nativeTable(...replicaCounts, age, ...templateColumns(), selectorColumn);

export const replicationControllerTable = nativeTable(
  ...replicaCounts,
  age,
  ...templateColumns(),
  wideColumn('Selector', (object) => labelsText(object, 'spec', 'selector')),
);

export const statefulSetTable = nativeTable(readyOfReplicas, age, ...templateColumns());

export const daemonSetTable = nativeTable(
  countColumn('Desired', 'status', 'desiredNumberScheduled'),
  countColumn('Current', 'status', 'currentNumberScheduled'),
  countColumn('Ready', 'status', 'numberReady'),
  countColumn('Up-to-date', 'status', 'updatedNumberScheduled'),
  countColumn('Available', 'status', 'numberAvailable'),
  textColumn('Node Selector', (object) => labelsText(object, 'spec', 'template', 'spec', 'nodeSelector')),
  age,
  ...templateColumns(),
  selectorColumn,
);

function jobStatus(job: NativeObject): string {
  const holds = (type: string): boolean =>
    listAt(job, 'status', 'conditions').some(
      (condition) => textAt(condition, 'type') === type && textAt(condition, 'status') === 'True',
    );
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (holds('Suspended')) return 'Suspended';
  if (holds('FailureTarget')) return 'FailureTarget';
  return holds('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function completions(job: NativeObject): string {
  const succeeded = count(job, 'status', 'succeeded');
  const wanted = numberAt(job, 'spec', 'completions');
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  const parallelism = count(job, 'spec', 'parallelism');
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: NativeObject, now: Date): string {
  const start = textAt(job, 'status', 'startTime');
  if (start === '') return '';
  return durationBetween(start, textAt(job, 'status', 'completionTime')) ?? sinceText(start, now);
}

export const jobTable = nativeTable(
  textColumn('Status', jobStatus),
  textColumn('Completions', completions),
  textColumn('Duration', jobDuration),
  age,
  ...templateColumns(),
  selectorColumn,
);

const jobSpec = ['spec', 'jobTemplate', 'spec'] as const;

export const cronJobTable = nativeTable(
  textColumn('Schedule', (object) => textAt(object, 'spec', 'schedule')),
  textColumn('Timezone', (object) => textAt(object, 'spec', 'timeZone') || none),
  {
    column: column('Suspend', { type: 'boolean', description: 'Whether no more jobs are made.' }),
    cell: (object) => (at(object, 'spec', 'suspend') === true ? 'True' : 'False'),
  },
  {
    column: column('Active', { type: 'integer', description: 'Jobs that are running.' }),
    cell: (object) => listAt(object, 'status', 'active').length,
  },
  textColumn('Last Schedule', (object, now) => {
    const last = textAt(object, 'status', 'lastScheduleTime');
    return last === '' ? none : sinceText(last, now);
  }),
  age,
  ...templateColumns(...jobSpec, 'template', 'spec', 'containers'),
  wideColumn('Selector', (object) => selectorText(objectAt(object, ...jobSpec, 'selector'))),
);

const limit =
  (field: string) =>
  (object: NativeObject): string => {
    const value = at(object, 'spec', field);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : 'N/A';
  };

export const podDisruptionBudgetTable = nativeTable(
  textColumn('Min Available', limit('minAvailable')),
  textColumn('Max Unavailable', limit('maxUnavailable')),
  countColumn('Allowed Disruptions', 'status', 'disruptionsAllowed'),
  age,
);

/** One metric of version 2: its current value and its target. */
function metricText(metric: Json, currents: readonly Json[], index: number): string {
  const type = textAt(metric, 'type');
  const field = `${type.charAt(0).toLowerCase()}${type.slice(1)}`;
  const target = at(metric, field, 'target');
  const current = at(currents[index], field, 'current');
  const utilization = numberAt(target, 'averageUtilization');
  if (utilization !== undefined) {
    const now = numberAt(current, 'averageUtilization');
    const value = `${now === undefined ? '<unknown>' : `${now}%`}/${utilization}%`;
    const name = textAt(metric, field, 'name');
    return name === '' ? value : `${name}: ${value}`;
  }
  const average = textAt(target, 'averageValue');
  if (average !== '') return `${textAt(current, 'averageValue') || '<unknown>'}/${average} (avg)`;
  return `${textAt(current, 'value') || '<unknown>'}/${textAt(target, 'value')}`;
}

function targetsText(scaler: NativeObject): string {
  const percent = numberAt(scaler, 'spec', 'targetCPUUtilizationPercentage');
  if (percent !== undefined) {
    const now = numberAt(scaler, 'status', 'currentCPUUtilizationPercentage');
    return `cpu: ${now === undefined ? '<unknown>' : `${now}%`}/${percent}%`;
  }
  const metrics = listAt(scaler, 'spec', 'metrics');
  if (metrics.length === 0) return none;
  const currents = listAt(scaler, 'status', 'currentMetrics');
  const texts = metrics.map((metric, index) => metricText(metric, currents, index));
  return texts.length > 2 ? `${texts.slice(0, 2).join(', ')} + ${texts.length - 2} more...` : texts.join(', ');
}

export const horizontalPodAutoscalerTable = nativeTable(
  textColumn(
    'Reference',
    (object) =>
      `${textAt(object, 'spec', 'scaleTargetRef', 'kind')}/${textAt(object, 'spec', 'scaleTargetRef', 'name')}`,
  ),
  textColumn('Targets', targetsText),
  textColumn('MinPods', (object) => {
    const min = numberAt(object, 'spec', 'minReplicas');
    return min === undefined ? unset : String(min);
  }),
  countColumn('MaxPods', 'spec', 'maxReplicas'),
  countColumn('Replicas', 'status', 'currentReplicas'),
  age,
);
