import type { DeepReadonly, Json, KubeObject } from '@multiplane/apimachinery';
import { at, listAt, textAt } from '../fields.ts';
import { addAmounts, amountsAt, raiseAmounts, type MutableAmounts } from './amounts.ts';

type Pod = DeepReadonly<KubeObject>;

const isPodLevelName = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

/** Whether the pod as a whole requests or limits a resource that pods may (KEP-2837). */
export const hasPodLevelResources = (pod: Pod): boolean =>
  ['requests', 'limits'].some((part) => [...amountsAt(pod, 'spec', 'resources', part).keys()].some(isPodLevelName));

/**
 * What the pod requests or may use at most (k8s.io/component-helpers/resource): the sum of its containers and sidecars or
 * what its init containers need in turn, whichever is greater; amounts of the pod as a whole replace that; then comes the
 * overhead. While a resize is under way, a container counts with the greater of the old and the new amount.
 */
export function podResources(pod: Pod, part: 'requests' | 'limits'): MutableAmounts {
  const statuses = new Map(
    [...listAt(pod, 'status', 'containerStatuses'), ...listAt(pod, 'status', 'initContainerStatuses')].map((status) => [
      textAt(status, 'name'),
      status,
    ]),
  );
  const isInfeasible = isResizeInfeasible(pod);
  const current = (container: Json): MutableAmounts =>
    effective(container, statuses.get(textAt(container, 'name')), part, isInfeasible);

  const total: MutableAmounts = new Map();
  for (const container of listAt(pod, 'spec', 'containers')) addAmounts(total, current(container));
  const sidecars: MutableAmounts = new Map();
  const initial: MutableAmounts = new Map();
  for (const container of listAt(pod, 'spec', 'initContainers')) {
    const isSidecar = textAt(container, 'restartPolicy') === 'Always';
    const own = isSidecar ? current(container) : amountsAt(container, 'resources', part);
    if (isSidecar) {
      addAmounts(total, own);
      addAmounts(sidecars, own);
      raiseAmounts(initial, sidecars);
    } else {
      addAmounts(own, sidecars);
      raiseAmounts(initial, own);
    }
  }
  raiseAmounts(total, initial);
  for (const [name, amount] of amountsAt(pod, 'spec', 'resources', part))
    if (isPodLevelName(name)) total.set(name, amount);
  addOverhead(total, pod, part);
  return total;
}

/** An overhead does not limit what had no limit. */
function addOverhead(total: MutableAmounts, pod: Pod, part: 'requests' | 'limits'): void {
  for (const [name, amount] of amountsAt(pod, 'spec', 'overhead')) {
    const known = total.get(name);
    if (part === 'requests' || (known !== undefined && known.sign !== 0)) total.set(name, known?.add(amount) ?? amount);
  }
}

function effective(
  container: Json,
  status: Json | undefined,
  part: 'requests' | 'limits',
  isInfeasible: boolean,
): MutableAmounts {
  const wanted = amountsAt(container, 'resources', part);
  if (status === undefined || at(status, 'resources') === undefined) return wanted;
  const result: MutableAmounts = isInfeasible ? new Map() : wanted;
  raiseAmounts(result, amountsAt(status, 'resources', part));
  if (part === 'requests') raiseAmounts(result, amountsAt(status, 'allocatedResources'));
  return result;
}

function isResizeInfeasible(pod: Pod): boolean {
  const pending = listAt(pod, 'status', 'conditions').find((each) => textAt(each, 'type') === 'PodResizePending');
  return textAt(pending, 'reason') === 'Infeasible';
}
