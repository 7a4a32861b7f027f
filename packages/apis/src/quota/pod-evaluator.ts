import type { DeepReadonly, Json, KubeObject } from '@multiplane/apimachinery';
import { isNative } from '../core/resource-names.ts';
import { at, listAt, numberAt, textAt } from '../fields.ts';
import { addAmounts, amountsAt, one, type MutableAmounts } from './amounts.ts';
import { hasPodLevelResources, podResources } from './pod-resources.ts';
import type { QuotaAmounts, QuotaEvaluator } from './quota-evaluator.ts';
import { namesMatch, type ScopeRequirement } from './scope-requirements.ts';

type Pod = DeepReadonly<KubeObject>;

/** Amounts that every container has to state if a quota limits them; kept by Kubernetes for old clients. */
const requiredNames = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']);
const podNames = new Set([
  'count/pods',
  'pods',
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);
const deviceClassPrefix = 'deviceclass.resource.kubernetes.io/';

/**
 * Pods (pkg/quota/v1/evaluator/core/pods.go). `count/pods` counts all of them; the other names count only those that are
 * neither finished nor stuck after the end of their grace period.
 */
export const podEvaluator: QuotaEvaluator = {
  readsContent: true,
  handles({ operation, subresource, object, oldObject }) {
    if (subresource === 'resize') return operation === 'UPDATE';
    if (subresource !== '') return false;
    return operation === 'CREATE' || (oldObject !== undefined && isTerminating(oldObject) !== isTerminating(object));
  },
  counts: (name) =>
    podNames.has(name) ||
    name.startsWith('hugepages-') ||
    name.startsWith('requests.hugepages-') ||
    (name.startsWith('requests.') && (!isNative(name) || name.startsWith(`requests.${deviceClassPrefix}`))),
  matches: matchesScope,
  usage(pod, nowMs) {
    const usage: MutableAmounts = new Map([['count/pods', one]]);
    if (!isActive(pod, nowMs)) return usage;
    addAmounts(usage, amountsByQuotaName(podResources(pod, 'requests'), podResources(pod, 'limits')));
    return usage;
  },
  constraint(limited, pod) {
    if (hasPodLevelResources(pod)) return undefined;
    const required = limited.filter((name) => requiredNames.has(name)).sort();
    const missing = required.flatMap((name) => {
      const containers = [...listAt(pod, 'spec', 'containers'), ...listAt(pod, 'spec', 'initContainers')]
        .filter((container) => !amountsOf(container).has(name))
        .map((container) => textAt(container, 'name'));
      return containers.length === 0 ? [] : [`${name} for: ${[...new Set(containers)].sort().join(',')}`];
    });
    return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
  },
};

const amountsOf = (container: Json): QuotaAmounts =>
  amountsByQuotaName(amountsAt(container, 'resources', 'requests'), amountsAt(container, 'resources', 'limits'));

function amountsByQuotaName(requests: QuotaAmounts, limits: QuotaAmounts): MutableAmounts {
  const amounts: MutableAmounts = new Map([['pods', one]]);
  for (const name of ['cpu', 'memory', 'ephemeral-storage']) {
    const request = requests.get(name);
    const limit = limits.get(name);
    if (request !== undefined) amounts.set(name, request).set(`requests.${name}`, request);
    if (limit !== undefined) amounts.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    const isHugePage = name.startsWith('hugepages-');
    if (isHugePage) amounts.set(name, request);
    if (isHugePage || !isNative(name) || name.startsWith(deviceClassPrefix)) amounts.set(`requests.${name}`, request);
  }
  return amounts;
}

function isActive(pod: Pod, nowMs: number): boolean {
  if (['Failed', 'Succeeded'].includes(textAt(pod, 'status', 'phase'))) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = pod.metadata;
  if (deletionTimestamp === undefined || grace === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + grace * 1000;
}

const isTerminating = (pod: Pod): boolean => (numberAt(pod, 'spec', 'activeDeadlineSeconds') ?? -1) >= 0;

function matchesScope(requirement: ScopeRequirement, pod: Pod): boolean {
  switch (requirement.scope) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass': {
      const name = textAt(pod, 'spec', 'priorityClassName');
      return namesMatch(requirement, name === '' ? [] : [name]);
    }
    case 'CrossNamespacePodAffinity':
      return usesOtherNamespaces(pod);
    default:
      return false;
  }
}

/** No container requests or limits CPU or memory, nor does the pod as a whole; a class in the status decides. */
function isBestEffort(pod: Pod): boolean {
  const known = textAt(pod, 'status', 'qosClass');
  if (known !== '') return known === 'BestEffort';
  const specs: readonly (Json | undefined)[] =
    at(pod, 'spec', 'resources') === undefined
      ? [...listAt(pod, 'spec', 'containers'), ...listAt(pod, 'spec', 'initContainers')]
      : [at(pod, 'spec')];
  return specs.every((spec) =>
    ['requests', 'limits'].every((part) => {
      const amounts = amountsAt(spec, 'resources', part);
      return ['cpu', 'memory'].every((name) => (amounts.get(name)?.sign ?? 0) <= 0);
    }),
  );
}

const isCrossNamespace = (term: Json | undefined): boolean =>
  listAt(term, 'namespaces').length > 0 || (at(term, 'namespaceSelector') ?? null) !== null;

const usesOtherNamespaces = (pod: Pod): boolean =>
  ['podAffinity', 'podAntiAffinity'].some((name) => {
    const affinity = at(pod, 'spec', 'affinity', name);
    return (
      listAt(affinity, 'requiredDuringSchedulingIgnoredDuringExecution').some(isCrossNamespace) ||
      listAt(affinity, 'preferredDuringSchedulingIgnoredDuringExecution').some((term) =>
        isCrossNamespace(at(term, 'podAffinityTerm')),
      )
    );
  });
