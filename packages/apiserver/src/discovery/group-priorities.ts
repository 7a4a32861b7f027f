import { compareVersionPriority } from '@multiplane/apimachinery';

/** Group priorities of Kubernetes (cmd/kube-apiserver, apiservice priorities). */
const priorities: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'internal.apiserver.k8s.io': 16_000,
};
/** Priority of groups of custom resources. */
const otherPriority = 1000;

const priorityOf = (group: string): number =>
  Object.hasOwn(priorities, group) ? (priorities[group] as number) : otherPriority;

/** Order of groups in discovery: by descending priority, then by name. */
export function compareGroups(a: string, b: string): number {
  return priorityOf(b) - priorityOf(a) || (a < b ? -1 : a > b ? 1 : 0);
}

export { compareVersionPriority as compareVersions };
