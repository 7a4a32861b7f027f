import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { replicateAnnotation } from './replicated-kinds.ts';

/** The groups on whose behalf objects are marked (C5.10); other entries of the annotation are somebody else's. */
export const markingGroups = ['apis.kcp.io', 'core.kcp.io', 'tenancy.kcp.io'] as const;
export type MarkingGroup = (typeof markingGroups)[number];

interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}
export type ClusterRole = KubeObject & { rules?: PolicyRule[] };
export type ClusterRoleBinding = KubeObject & {
  subjects?: { kind: string; name: string }[];
  roleRef?: { kind: string; name: string };
};

/** Subjects of a maximal permission policy begin with this. */
const bindingPrefix = 'apis.kcp.io:binding:';

const names = (list: readonly string[] | undefined, wanted: readonly string[]): boolean =>
  (list ?? []).some((entry) => entry === '*' || wanted.includes(entry));

/** What other shards decide by these rules: the use of types, the binding of exports, access to the logical cluster. */
export function groupsOfRules(
  rules: DeepReadonly<PolicyRule[]> | undefined,
  clusterIsShared: boolean,
): Set<MarkingGroup> {
  const groups = new Set<MarkingGroup>();
  for (const { verbs, apiGroups, resources, nonResourceURLs } of rules ?? []) {
    if (
      names(apiGroups, ['tenancy.kcp.io']) &&
      names(resources, ['workspacetypes']) &&
      names(verbs, ['use', 'initialize', 'terminate'])
    )
      groups.add('tenancy.kcp.io');
    if (
      names(apiGroups, ['apis.kcp.io']) &&
      ((names(resources, ['apiexports']) && names(verbs, ['bind'])) || names(resources, ['apiexports/content']))
    )
      groups.add('apis.kcp.io');
    if (clusterIsShared && names(nonResourceURLs, ['/', '/*']) && names(verbs, ['access'])) groups.add('core.kcp.io');
  }
  return groups;
}

/** Whether a binding speaks of people as a maximal permission policy does. */
export function bindsPolicySubjects(binding: DeepReadonly<ClusterRoleBinding>): boolean {
  return (binding.subjects ?? []).some(
    ({ kind, name }) => (kind === 'User' || kind === 'Group') && name.startsWith(bindingPrefix),
  );
}

/** The value of the annotation that says so: sorted, with what others have put there; empty for none. */
export function markOf(object: DeepReadonly<KubeObject>, groups: ReadonlySet<MarkingGroup>): string {
  const foreign = currentMark(object)
    .split(',')
    .filter((entry) => entry !== '' && !(markingGroups as readonly string[]).includes(entry));
  return [...new Set([...foreign, ...groups])].sort().join(',');
}

/** The annotation as it is; empty when it is not there. */
export function currentMark(object: DeepReadonly<KubeObject>): string {
  return object.metadata.annotations?.[replicateAnnotation] ?? '';
}
