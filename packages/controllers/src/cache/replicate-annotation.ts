import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { replicateAnnotation } from './replicated-kinds.ts';

/** API groups that the controller sets in the annotation; other entries belong to other writers and are kept. */
export const replicatingGroups = ['apis.kcp.io', 'core.kcp.io', 'tenancy.kcp.io'] as const;
export type ReplicatingGroup = (typeof replicatingGroups)[number];

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

/** Prefix of the subjects of a maximal permission policy. */
const policySubjectPrefix = 'apis.kcp.io:binding:';

const includesAny = (list: readonly string[] | undefined, wanted: readonly string[]): boolean =>
  (list ?? []).some((entry) => entry === '*' || wanted.includes(entry));

/**
 * The groups that need these rules on other shards: for the use of workspace types, the binding, scoping and content of
 * exports, the assignment of objects to scopes, and access to a replicated logical cluster.
 */
export function groupsOfRules(
  rules: DeepReadonly<PolicyRule[]> | undefined,
  isClusterReplicated: boolean,
): Set<ReplicatingGroup> {
  const groups = new Set<ReplicatingGroup>();
  for (const { verbs, apiGroups, resources, nonResourceURLs } of rules ?? []) {
    if (
      includesAny(apiGroups, ['tenancy.kcp.io']) &&
      includesAny(resources, ['workspacetypes']) &&
      includesAny(verbs, ['use', 'initialize', 'terminate'])
    )
      groups.add('tenancy.kcp.io');
    if (
      includesAny(apiGroups, ['apis.kcp.io']) &&
      ((includesAny(resources, ['apiexports']) && includesAny(verbs, ['bind', 'scope'])) ||
        includesAny(resources, ['apiexports/content']))
    )
      groups.add('apis.kcp.io');
    // Scopes are part of the sharing of APIs: they have no entry of their own.
    if (
      includesAny(apiGroups, ['scopes.multiplane.dev']) &&
      includesAny(resources, ['apiexportscopes']) &&
      includesAny(verbs, ['assign', 'create'])
    )
      groups.add('apis.kcp.io');
    if (isClusterReplicated && includesAny(nonResourceURLs, ['/', '/*']) && includesAny(verbs, ['access']))
      groups.add('core.kcp.io');
  }
  return groups;
}

/** Whether a binding has subjects of a maximal permission policy. */
export function bindsPolicySubjects(binding: DeepReadonly<ClusterRoleBinding>): boolean {
  return (binding.subjects ?? []).some(
    ({ kind, name }) => (kind === 'User' || kind === 'Group') && name.startsWith(policySubjectPrefix),
  );
}

/** The value of the annotation for these groups and the entries of other writers, sorted; empty for none. */
export function desiredReplicateAnnotation(
  object: DeepReadonly<KubeObject>,
  groups: ReadonlySet<ReplicatingGroup>,
): string {
  const otherEntries = replicateAnnotationOf(object)
    .split(',')
    .filter((entry) => entry !== '' && !(replicatingGroups as readonly string[]).includes(entry));
  return [...new Set([...otherEntries, ...groups])].sort().join(',');
}

/** The current value of the annotation; empty if absent. */
export function replicateAnnotationOf(object: DeepReadonly<KubeObject>): string {
  return object.metadata.annotations?.[replicateAnnotation] ?? '';
}
