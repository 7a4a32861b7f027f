import type { Json } from '@multiplane/apimachinery';
import { at, listAt, numberAt, textAt } from '../fields.ts';
import { column } from '../tables/columns.ts';
import { age, labelsText, nativeTable, none, sinceText, textColumn, wideColumn, type NativeObject } from './cells.ts';

/** What the columns of a pod say of its containers. */
interface PodSummary {
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** When a container ended last; empty when none was ever started again. */
  readonly lastRestart: string;
  readonly status: string;
}

/**
 * State of a pod in one word: the phase, unless a container has something more telling to say. Init containers
 * speak as long as one of them is not done, the others in reverse, so that the first one wins.
 */
function summarize(pod: NativeObject): PodSummary {
  const containers = listAt(pod, 'spec', 'containers');
  const initSpecs = new Map(listAt(pod, 'spec', 'initContainers').map((spec) => [textAt(spec, 'name'), spec]));
  const isSidecar = (name: string): boolean => textAt(initSpecs.get(name), 'restartPolicy') === 'Always';
  const sidecars = [...initSpecs.keys()].filter(isSidecar).length;
  const restarts = new Restarts();
  let ready = 0;
  let status = textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase');
  for (const condition of listAt(pod, 'status', 'conditions')) {
    if (textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'reason') === 'SchedulingGated')
      status = 'SchedulingGated';
  }

  const initial = listAt(pod, 'status', 'initContainerStatuses');
  let initializing = false;
  for (const [index, container] of initial.entries()) {
    const sidecar = isSidecar(textAt(container, 'name'));
    restarts.add(container, sidecar);
    if (initializing) continue;
    const state = at(container, 'state');
    const ended = at(state, 'terminated');
    if (ended !== undefined && (numberAt(ended, 'exitCode') ?? 0) === 0) continue;
    if (sidecar && at(container, 'started') === true) {
      if (at(container, 'ready') === true) ready++;
      continue;
    }
    const waiting = textAt(state, 'waiting', 'reason');
    if (ended !== undefined) status = `Init:${endReason(ended)}`;
    else if (waiting !== '' && waiting !== 'PodInitializing') status = `Init:${waiting}`;
    else status = `Init:${index}/${initSpecs.size}`;
    initializing = true;
  }

  if (!initializing || hasCondition(pod, 'Initialized')) {
    let running = false;
    for (const container of listAt(pod, 'status', 'containerStatuses').toReversed()) {
      restarts.add(container, true);
      const state = at(container, 'state');
      const ended = at(state, 'terminated');
      const waiting = textAt(state, 'waiting', 'reason');
      if (waiting !== '') status = waiting;
      else if (ended !== undefined) status = endReason(ended);
      else if (at(container, 'ready') === true && at(state, 'running') !== undefined) {
        running = true;
        ready++;
      }
    }
    if (status === 'Completed' && running) status = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady';
  }

  if (pod.metadata.deletionTimestamp !== undefined) {
    if (textAt(pod, 'status', 'reason') === 'NodeLost') status = 'Unknown';
    else if (!['Failed', 'Succeeded'].includes(textAt(pod, 'status', 'phase'))) status = 'Terminating';
  }
  const total = containers.length + sidecars;
  return { ready, total, restarts: restarts.count, lastRestart: restarts.last, status };
}

class Restarts {
  count = 0;
  last = '';

  add(container: Json, counts: boolean): void {
    if (!counts) return;
    this.count += Number(numberAt(container, 'restartCount') ?? 0);
    const ended = textAt(container, 'lastState', 'terminated', 'finishedAt');
    if (ended > this.last) this.last = ended;
  }
}

function endReason(ended: Json): string {
  const reason = textAt(ended, 'reason');
  if (reason !== '') return reason;
  const signal = numberAt(ended, 'signal') ?? 0;
  return signal === 0 ? `ExitCode:${numberAt(ended, 'exitCode') ?? 0}` : `Signal:${signal}`;
}

const hasCondition = (pod: NativeObject, type: string): boolean =>
  listAt(pod, 'status', 'conditions').some(
    (condition) => textAt(condition, 'type') === type && textAt(condition, 'status') === 'True',
  );

const summaries = new WeakMap<NativeObject, PodSummary>();
function summaryOf(pod: NativeObject): PodSummary {
  let summary = summaries.get(pod);
  if (summary === undefined) {
    summary = summarize(pod);
    summaries.set(pod, summary);
  }
  return summary;
}

function readinessGates(pod: NativeObject): string {
  const gates = listAt(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return none;
  return `${gates.filter((gate) => hasCondition(pod, textAt(gate, 'conditionType'))).length}/${gates.length}`;
}

export const podTable = nativeTable(
  textColumn(
    'Ready',
    (pod) => `${summaryOf(pod).ready}/${summaryOf(pod).total}`,
    'How many containers are ready, and how many there are.',
  ),
  textColumn('Status', (pod) => summaryOf(pod).status, 'What the pod is doing, in one word.'),
  textColumn(
    'Restarts',
    (pod, now) => {
      const { restarts, lastRestart } = summaryOf(pod);
      return restarts === 0 || lastRestart === ''
        ? String(restarts)
        : `${restarts} (${sinceText(lastRestart, now)} ago)`;
    },
    'How often containers were started again, and when last.',
  ),
  age,
  wideColumn('IP', (pod) => textAt(listAt(pod, 'status', 'podIPs')[0], 'ip') || textAt(pod, 'status', 'podIP') || none),
  wideColumn('Node', (pod) => textAt(pod, 'spec', 'nodeName') || none),
  wideColumn('Nominated Node', (pod) => textAt(pod, 'status', 'nominatedNodeName') || none),
  wideColumn('Readiness Gates', readinessGates),
);

const conditionsText = (node: NativeObject): string => {
  const known = listAt(node, 'status', 'conditions').filter((condition) => textAt(condition, 'type') === 'Ready');
  const texts: string[] = known.map((condition) => (textAt(condition, 'status') === 'True' ? 'Ready' : 'NotReady'));
  if (texts.length === 0) texts.push('Unknown');
  if (at(node, 'spec', 'unschedulable') === true) texts.push('SchedulingDisabled');
  return texts.join(',');
};

const rolePrefix = 'node-role.kubernetes.io/';

function rolesText(node: NativeObject): string {
  const roles = new Set<string>();
  for (const [label, value] of Object.entries(node.metadata.labels ?? {})) {
    if (label.startsWith(rolePrefix) && label !== rolePrefix) roles.add(label.slice(rolePrefix.length));
    else if (label === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return [...roles].sort().join(',') || none;
}

const addressOf =
  (type: string) =>
  (node: NativeObject): string =>
    textAt(
      listAt(node, 'status', 'addresses').find((address) => textAt(address, 'type') === type),
      'address',
    ) || none;

const nodeInfo =
  (field: string) =>
  (node: NativeObject): string =>
    textAt(node, 'status', 'nodeInfo', field) || '<unknown>';

export const nodeTable = nativeTable(
  textColumn('Status', conditionsText, 'Whether the node is ready.'),
  textColumn('Roles', rolesText, 'What the node is for.'),
  age,
  textColumn('Version', (node) => textAt(node, 'status', 'nodeInfo', 'kubeletVersion')),
  wideColumn('Internal-IP', addressOf('InternalIP')),
  wideColumn('External-IP', addressOf('ExternalIP')),
  wideColumn('OS-Image', nodeInfo('osImage')),
  wideColumn('Kernel-Version', nodeInfo('kernelVersion')),
  wideColumn('Container-Runtime', nodeInfo('containerRuntimeVersion')),
);

export const podTemplateTable = nativeTable(
  textColumn('Containers', (template) =>
    listAt(template, 'template', 'spec', 'containers')
      .map((container) => textAt(container, 'name'))
      .join(','),
  ),
  textColumn('Images', (template) =>
    listAt(template, 'template', 'spec', 'containers')
      .map((container) => textAt(container, 'image'))
      .join(','),
  ),
  textColumn('Pod Labels', (template) => labelsText(template, 'template', 'metadata', 'labels')),
);

export const controllerRevisionTable = nativeTable(
  textColumn('Controller', (revision) => {
    const owner = revision.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined) return none;
    const [group, version] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : ['', owner.apiVersion];
    const kind = `${owner.kind.toLowerCase()}${group === '' || version === undefined ? '' : `.${group}`}`;
    return `${kind}/${owner.name}`;
  }),
  {
    column: column('Revision', { type: 'integer', description: 'Number of the state.' }),
    cell: (revision) => numberAt(revision, 'revision') ?? 0,
  },
  age,
);

/** What a component of the control plane says of itself. */
export const componentStatusTable = nativeTable(
  textColumn('Status', (component) => {
    const healthy = healthOf(component);
    if (healthy === undefined) return 'Unknown';
    return textAt(healthy, 'status') === 'True' ? 'Healthy' : 'Unhealthy';
  }),
  textColumn('Message', (component) => textAt(healthOf(component), 'message')),
  textColumn('Error', (component) => textAt(healthOf(component), 'error')),
);

const healthOf = (component: NativeObject): Json | undefined =>
  listAt(component, 'conditions').find((condition) => textAt(condition, 'type') === 'Healthy');
