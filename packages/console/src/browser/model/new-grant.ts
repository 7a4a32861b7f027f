import type { RoleBinding, Subject } from './access-grants.ts';

/** What the wizard has collected. */
export interface GrantRequest {
  readonly subject: Subject;
  readonly role: { readonly kind: 'ClusterRole' | 'Role'; readonly name: string };
  /** Undefined: in the whole workspace. */
  readonly namespace: string | undefined;
  /** Also lets the subject into the workspace; without that no role has an effect. */
  readonly entersWorkspace: boolean;
}

const rbac = 'rbac.authorization.k8s.io';
const accessRole = 'system:kcp:workspace:access';

const kindFlags: Readonly<Record<string, string>> = {
  User: '--user',
  Group: '--group',
  ServiceAccount: '--serviceaccount',
};
const quoted = (text: string): string =>
  /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');

/** Names of bindings say what they do. */
const bindingName = (role: string, subject: Subject): string =>
  [slug(role), slug(subject.kind === 'ServiceAccount' ? `${subject.namespace ?? ''}-${subject.name}` : subject.name)]
    .filter((part) => part !== '')
    .join('-')
    .slice(0, 200);

const subjectOf = ({ kind, name, namespace }: Subject): Subject & { readonly apiGroup?: string } =>
  kind === 'ServiceAccount' ? { kind, name, namespace: namespace ?? 'default' } : { kind, name, apiGroup: rbac };

function bindingOf(role: GrantRequest['role'], subject: Subject, namespace: string | undefined): RoleBinding {
  return {
    apiVersion: `${rbac}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name: bindingName(role.name, subject), ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: rbac, ...role },
    subjects: [subjectOf(subject)],
  } as RoleBinding;
}

/** The bindings to create. Service accounts of a workspace are in it already. */
export function bindingsFor({ subject, role, namespace, entersWorkspace }: GrantRequest): readonly RoleBinding[] {
  const own = bindingOf(role, subject, namespace);
  const isAccess = role.name === accessRole || subject.kind === 'ServiceAccount' || !entersWorkspace;
  return isAccess ? [own] : [bindingOf({ kind: 'ClusterRole', name: accessRole }, subject, undefined), own];
}

/** The same by kubectl, in the workspace. */
export function grantCommands(cluster: string, request: GrantRequest): string {
  const commands = bindingsFor(request).map(({ kind, metadata, roleRef, subjects }) => {
    const [subject] = subjects ?? [];
    const who =
      subject?.kind === 'ServiceAccount' ? `${subject.namespace ?? ''}:${subject.name}` : (subject?.name ?? '');
    const role = `--${roleRef.kind.toLowerCase()}=${quoted(roleRef.name)}`;
    const where = metadata.namespace === undefined ? '' : ` --namespace=${quoted(metadata.namespace)}`;
    return `kubectl create ${kind?.toLowerCase() ?? ''} ${quoted(metadata.name)} ${role} ${kindFlags[subject?.kind ?? ''] ?? '--user'}=${quoted(who)}${where}`;
  });
  return [`kubectl ws :${cluster}`, ...commands].join('\n');
}
