/** What the template calls the API of a project. */
export interface ProjectNames {
  readonly project: string;
  readonly group: string;
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
}

const kindPattern = /^[A-Z][A-Za-z0-9]{0,62}$/;
const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const groupPattern = new RegExp(`^${label}(?:\\.${label})+$`);
/** Servers accept these groups only with the consent of the Kubernetes community. */
const protectedGroup = /(?:^|\.)(?:k8s|kubernetes)\.io$/;
/** Names that the generated modules have besides. */
const takenKinds = [
  'ConfigMap',
  'KubeObject',
  'Main',
  'Provider',
  'ProviderOptions',
  'TestingServer',
  'TestingWorkspace',
];

/** Throws a RangeError for names that a server, or npm, would refuse. */
export function projectNames({
  project,
  group,
  kind,
}: {
  readonly project: string;
  readonly group: string;
  readonly kind: string;
}): ProjectNames {
  if (!kindPattern.test(kind))
    throw new RangeError(
      `invalid kind ${JSON.stringify(kind)}: it must begin with a capital letter, and consist of letters and digits`,
    );
  if (takenKinds.includes(kind))
    throw new RangeError(`invalid kind ${JSON.stringify(kind)}: the generated code uses this name`);
  if (!groupPattern.test(group) || group.length > 253)
    throw new RangeError(
      `invalid group ${JSON.stringify(group)}: it must be a DNS name with a dot, such as example.dev`,
    );
  if (protectedGroup.test(group))
    throw new RangeError(`invalid group ${JSON.stringify(group)}: it belongs to the Kubernetes community`);
  const singular = kind.toLowerCase();
  return { project: packageName(project), group, kind, singular, plural: pluralOf(singular) };
}

/** A name that npm accepts, made of the name of a folder. */
const packageName = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^-a-z0-9._~]+/g, '-')
    .replaceAll(/^[-._]+|-+$/g, '')
    .slice(0, 214) || 'provider';

/** As English makes most of them: boxes, policies, cowboys. */
function pluralOf(singular: string): string {
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`;
}
