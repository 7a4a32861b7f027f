import type { PermissionClaim } from './api-export.ts';

export interface ClaimWords {
  /** `Read and change Secrets`. */
  readonly title: string;
  /** What the provider will see or do. */
  readonly text: string;
  /** Objects that hold secrets, or that decide who may do what. */
  readonly isSensitive: boolean;
}

const reading = ['get', 'list', 'watch'];
const order = ['read', 'create', 'change', 'delete', 'do everything with'] as const;
type Ability = (typeof order)[number];

const abilityOf: Readonly<Record<string, Ability>> = {
  get: 'read',
  list: 'read',
  watch: 'read',
  create: 'create',
  update: 'change',
  patch: 'change',
  delete: 'delete',
  deletecollection: 'delete',
  '*': 'do everything with',
};

const sensitive = /^(secrets|serviceaccounts)\.$|\.(rbac\.authorization|certificates|admissionregistration)\.k8s\.io$/;

/** The words for what a claim grants, in the order of reading, creating, changing and deleting. */
export function claimWords(
  { group = '', resource, verbs = [], identityHash = '', objects, subresources }: PermissionClaim,
  kind?: string,
): ClaimWords {
  const name = kind === undefined ? (group === '' ? resource : `${resource}.${group}`) : plural(kind);
  const known = new Set(verbs.map((verb) => abilityOf[verb]).filter((ability) => ability !== undefined));
  const abilities: string[] = known.has('do everything with')
    ? ['do everything with']
    : [...order.filter((ability) => known.has(ability)), ...verbs.filter((verb) => abilityOf[verb] === undefined)];
  const action = abilities.length === 0 ? 'use' : joined(abilities);
  const readsSingly =
    !verbs.includes('*') &&
    reading.some((verb) => verbs.includes(verb)) &&
    !verbs.includes('list') &&
    !verbs.includes('watch');
  const from = identityHash === '' ? '' : ' It means the API of one certain provider, not any API with this name.';
  return {
    title: `${action.slice(0, 1).toUpperCase()}${action.slice(1)} ${name}`,
    text: `${effect(known, name, readsSingly)}${limits(objects, subresources)}${from}`,
    isSensitive: sensitive.test(`${resource}.${group}`),
  };
}

function effect(known: ReadonlySet<Ability>, name: string, readsSingly: boolean): string {
  if (known.has('do everything with'))
    return `The provider sees all ${name} in this workspace, and can create, change and delete them.`;
  const writes = (['create', 'change', 'delete'] as const).filter((ability) => known.has(ability));
  const sees = known.has('read')
    ? readsSingly
      ? `The provider sees ${name} in this workspace whose names it knows`
      : `The provider sees all ${name} in this workspace`
    : `The provider does not see the ${name} in this workspace`;
  if (writes.length === 0) return `${sees}. It cannot change them.`;
  return `${sees}${known.has('read') ? ', and' : ', but'} it can ${joined(writes)} them.`;
}

/** What the claim leaves out. */
function limits(objects: PermissionClaim['objects'], subresources: PermissionClaim['subresources']): string {
  const { names, namespaces, fieldSelector, references } = objects ?? {};
  const only = [
    ...(names === undefined ? [] : [`those named ${joined(names)}`]),
    ...(namespaces === undefined ? [] : [`those in the namespaces ${joined(namespaces)}`]),
    ...(fieldSelector === undefined ? [] : [`those where ${fieldSelector}`]),
    ...(references === undefined
      ? []
      : [`those that ${joined(references.map(({ resource, path }) => `${resource} name in ${path}`))}`]),
  ];
  const parts = subresources === undefined ? '' : ` Of subresources: ${joined(subresources) || 'none'}.`;
  return `${only.length === 0 ? '' : ` Only ${only.join(', of these only ')}.`}${parts}`;
}

const joined = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** Of the name of a kind, as English makes it. */
function plural(kind: string): string {
  if (/(s|x|z|ch|sh)$/i.test(kind)) return `${kind}es`;
  return /[^aeiou]y$/i.test(kind) ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

/** What makes one claim: the same in an export and in a binding. */
export const claimKey = ({ group = '', resource, identityHash = '' }: PermissionClaim): string =>
  `${resource}.${group}/${identityHash}`;

/** As `kubectl kcp bind` names it. */
export const claimName = ({ group = '', resource }: PermissionClaim): string =>
  `${resource}.${group === '' ? 'core' : group}`;
