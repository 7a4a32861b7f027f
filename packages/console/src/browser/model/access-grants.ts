import type { KubeObject } from '../data/kube-object.ts';

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface RoleBinding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly Subject[] | null;
}

/** One subject of one binding. */
export interface Grant {
  readonly key: string;
  readonly subject: Subject;
  readonly roleKind: string;
  readonly role: string;
  /** Undefined: in the whole workspace. */
  readonly namespace: string | undefined;
  readonly binding: RoleBinding;
  /** Undefined: the role is not in this workspace. */
  readonly rules: readonly PolicyRule[] | undefined;
  /** What the role allows, in words. */
  readonly summary: string;
}

/** Roles that every control plane has; workspaces refer to them without having them. */
export const builtInRoles: ReadonlyMap<string, string> = new Map([
  ['cluster-admin', 'everything'],
  ['admin', 'everything in namespaces, roles and bindings included'],
  ['edit', 'reads and writes objects in namespaces, no roles'],
  ['view', 'reads objects in namespaces, no secrets'],
  ['system:kcp:workspace:access', 'enters the workspace'],
]);

const joined = (values: readonly string[], all: string): string => (values.includes('*') ? all : values.join(', '));

/** A rule in words: `get, list configmaps, secrets`, `everything in example.dev`, `access /`. */
export function ruleText({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): string {
  if (nonResourceURLs.length > 0) return `${joined(verbs, 'all verbs')} on ${joined(nonResourceURLs, 'every path')}`;
  const groups = apiGroups.filter((group) => group !== '');
  const anyResource = resources.includes('*');
  const what = anyResource ? 'all resources' : resources.join(', ');
  const where = groups.length === 0 || groups.includes('*') ? '' : ` of ${groups.join(', ')}`;
  const named = resourceNames.length === 0 ? '' : ` named ${resourceNames.join(', ')}`;
  const action = verbs.includes('*') ? 'everything with' : verbs.join(', ');
  return `${action} ${what}${where}${named}`;
}

/** The first rules in words, and how many more there are. */
export function rulesSummary(rules: readonly PolicyRule[]): string {
  if (
    rules.some(({ verbs, apiGroups = [], resources = [] }) =>
      [verbs, apiGroups, resources].every((list) => list.includes('*')),
    )
  )
    return 'everything';
  if (rules.length === 0) return 'nothing: the role has no rules';
  const shown = rules.slice(0, 2).map(ruleText).join('; ');
  return rules.length > 2 ? `${shown}; and ${rules.length - 2} more` : shown;
}

/** One row for each subject of each binding. */
export function grantsOf(found: {
  readonly bindings: readonly RoleBinding[];
  readonly clusterRoles: readonly Role[];
  readonly roles: readonly Role[];
}): readonly Grant[] {
  const clusterRoles = new Map(found.clusterRoles.map((role) => [role.metadata.name, role]));
  const roles = new Map(found.roles.map((role) => [`${role.metadata.namespace ?? ''}/${role.metadata.name}`, role]));
  return found.bindings.flatMap((binding) => {
    const { namespace, name } = binding.metadata;
    const { kind, name: role } = binding.roleRef;
    const rules = kind === 'Role' ? roles.get(`${namespace ?? ''}/${role}`)?.rules : clusterRoles.get(role)?.rules;
    const isKnown = kind === 'Role' ? roles.has(`${namespace ?? ''}/${role}`) : clusterRoles.has(role);
    const own = isKnown ? (rules ?? []) : undefined;
    const builtIn = kind === 'ClusterRole' ? builtInRoles.get(role) : undefined;
    const summary =
      own !== undefined
        ? rulesSummary(own)
        : (builtIn ??
          (role.startsWith('system:') ? 'a role of the control plane' : 'nothing: the role does not exist here'));
    return (binding.subjects ?? []).map((subject, index) => ({
      key: `${namespace ?? ''}/${name}/${index}`,
      subject,
      roleKind: kind,
      role,
      namespace,
      binding,
      rules: own,
      summary,
    }));
  });
}

/** How a subject is written: service accounts with their namespace. */
export const subjectText = ({ kind, name, namespace }: Subject): string =>
  kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name;

/** The binding without one of its subjects; undefined when none is left and the binding itself has to go. */
export function withoutSubject({ binding, subject }: Pick<Grant, 'binding' | 'subject'>): RoleBinding | undefined {
  const subjects = (binding.subjects ?? []).filter((each) => each !== subject);
  return subjects.length === 0 ? undefined : { ...binding, subjects };
}
