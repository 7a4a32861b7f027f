import { kubectlName, type ApiResource } from './discovery.ts';

/** What is asked about. */
export interface AccessQuestion {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A SubjectAccessReview that was asked to explain itself. */
export interface ExplainedReview {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status: {
    readonly allowed: boolean;
    readonly denied?: boolean;
    readonly reason?: string;
    readonly evaluationError?: string;
  };
}

export type Outcome = 'passed' | 'allowed' | 'refused' | 'skipped';

export interface AccessStep {
  readonly key: string;
  readonly title: string;
  /** What the authorizer checks. */
  readonly description: string;
  readonly outcome: Outcome;
  readonly reason: string;
  /** What would change a refusal. */
  readonly remedy: string | undefined;
}

const prefix = 'sar.auth.kcp.io/';

/** The authorizers in the order in which they are asked; each one asks the next. */
const links = [
  {
    key: '01-requiredgroups',
    title: 'Required groups',
    description: 'A workspace can be open to the members of some groups alone.',
    remedy: 'The user has to be a member of one of these groups, which the log-in decides.',
  },
  {
    key: '02-content',
    title: 'Access to the workspace',
    description: 'Who is not let into a workspace cannot use any right in it.',
    remedy: 'Grant the role system:kcp:workspace:access to the user, or to a group of the user, in this workspace.',
  },
  {
    key: '03-systemcrd',
    title: 'Protected status',
    description: 'The status of exports, bindings and endpoints is written by the control plane alone.',
    remedy: 'No role changes this. Write the spec; controllers of the control plane write the status.',
  },
  {
    key: '04-maxpermissionpolicy',
    title: 'Policy of the provider',
    description: 'The provider of a bound API can limit what its consumers do with it.',
    remedy: 'Ask the provider of the API: roles in its workspace decide, those of this workspace cannot extend them.',
  },
  {
    key: '05-bootstrap',
    title: 'Roles of the control plane',
    description: 'Roles that hold in every workspace, such as those of administrators and for discovery.',
    remedy: undefined,
  },
  {
    key: '05-local',
    title: 'Roles of this workspace',
    description: 'Roles and their bindings in this workspace.',
    remedy: 'Grant a role that allows it to the user, or to a group of the user.',
  },
] as const;

/**
 * The chain of authorizers as steps. An authorizer that passes asks the next one and reports its answer as its own: so the last one
 * with an answer has decided, and all before it have passed.
 */
export function explain({ metadata, status }: ExplainedReview): readonly AccessStep[] {
  const annotations = metadata?.annotations ?? {};
  const isAsked = (key: string): boolean => annotations[`${prefix}${key}-decision`] !== undefined;
  const asked = links.filter(({ key }) => isAsked(key));
  const last = asked.at(-1)?.key;
  return links.map(({ key, title, description, remedy }) => {
    const decision = annotations[`${prefix}${key}-decision`];
    const reason = (annotations[`${prefix}${key}-reason`] ?? '').replace(/^bootstrap policy: /, '');
    const outcome = outcomeOf(decision, key === last, status.allowed, key === '05-bootstrap');
    const isOwn = outcome === 'allowed' || outcome === 'refused';
    return {
      key,
      title,
      description,
      outcome,
      reason: isOwn ? (reason === '' && outcome === 'refused' ? 'no role allows it' : reason) : '',
      remedy: outcome === 'refused' ? remedy : undefined,
    };
  });
}

function outcomeOf(decision: string | undefined, isLast: boolean, isAllowed: boolean, isBootstrap: boolean): Outcome {
  if (decision === undefined) return 'skipped';
  if (!isLast) return 'passed';
  if (isBootstrap && decision !== 'Allowed') return 'passed';
  return isAllowed ? 'allowed' : 'refused';
}

/** The answer in a sentence. */
export function verdict({ metadata, status }: ExplainedReview): string {
  const isChain = Object.keys(metadata?.annotations ?? {}).some((key) => key.startsWith(prefix));
  if (isChain) return status.allowed ? 'Yes, this is allowed.' : 'No, this is denied.';
  return status.allowed
    ? 'Yes: it is allowed before any role is looked at, as to members of system:masters.'
    : `No: it is denied before any role of this workspace is looked at${status.reason === undefined || status.reason === '' ? '' : ` (${status.reason})`}.`;
}

/** The body of the review. */
export function reviewOf({
  user,
  groups,
  verb,
  group,
  resource,
  subresource,
  namespace,
  name,
}: AccessQuestion): object {
  const given = (values: Readonly<Record<string, string>>): object =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const path = resource.startsWith('/');
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      groups,
      ...(path
        ? { nonResourceAttributes: { verb, path: resource } }
        : { resourceAttributes: { verb, ...given({ group, resource, subresource, namespace, name }) } }),
    },
  };
}

/** The same question by kubectl. */
export function questionCommand(cluster: string, question: AccessQuestion): string {
  const { user, groups, verb, group, resource, subresource, namespace, name } = question;
  const quoted = (text: string): string =>
    /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const what = `${resource}${group === '' ? '' : `.${group}`}${name === '' ? '' : `/${name}`}`;
  const flags = [
    subresource === '' ? '' : `--subresource=${quoted(subresource)}`,
    namespace === '' ? '' : `--namespace=${quoted(namespace)}`,
    `--as=${quoted(user)}`,
    ...groups.map((each) => `--as-group=${quoted(each)}`),
  ].filter((flag) => flag !== '');
  return `kubectl ws :${cluster}\nkubectl auth can-i ${quoted(verb)} ${quoted(what)} ${flags.join(' ')}`;
}

/** Users have this group as soon as they are logged in. */
const authenticated = 'system:authenticated';
const accountPrefix = 'system:serviceaccount:';

/** The groups of a question: those that were typed, and those that every user and service account has. */
export function groupsOf(user: string, typed: string): readonly string[] {
  const groups = typed
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
  const [namespace = ''] = user.startsWith(accountPrefix) ? user.slice(accountPrefix.length).split(':') : [];
  const implied =
    namespace === ''
      ? [authenticated]
      : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticated];
  return [...new Set([...groups, ...implied])];
}

/**
 * What was typed as a resource: `deployments.apps`, `pods/log`, or a path such as `/metrics`. A name with its group is looked up in
 * what the workspace serves; what it does not serve is taken as it is.
 */
export function askedOf(
  typed: { readonly resource: string; readonly namespace: string; readonly name: string },
  served: readonly ApiResource[],
): Pick<AccessQuestion, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'> {
  const text = typed.resource.trim();
  if (text.startsWith('/')) return { group: '', resource: text, subresource: '', namespace: '', name: '' };
  const [full = '', subresource = ''] = text.split('/', 2);
  const found = served.find((each) => kubectlName(each) === full);
  const dot = full.indexOf('.');
  return {
    group: found?.group ?? (dot < 0 ? '' : full.slice(dot + 1)),
    resource: found?.resource ?? (dot < 0 ? full : full.slice(0, dot)),
    subresource,
    namespace: typed.namespace.trim(),
    name: typed.name.trim(),
  };
}
