import type { DeepReadonly } from '@multiplane/apimachinery';
import { effectiveClaim, type ScopedPermissionClaim } from '@multiplane/apis';
import { groupResourceText, isSameClaim, type Binding } from './permission-claims.ts';

/** A claim of an export with the answer of the binding, and what is in force if it is accepted. */
export interface AnsweredClaim {
  readonly state: 'Accepted' | 'Rejected' | 'Not answered';
  readonly claim: DeepReadonly<ScopedPermissionClaim>;
}

/** The claims of the export of a binding, as far as the binding limits them; those of the binding before it is bound. */
export function answeredClaims({ spec, status }: Binding): readonly AnsweredClaim[] {
  const own = spec?.permissionClaims ?? [];
  return (status?.exportPermissionClaims ?? own).map((offer) => {
    const answer = own.find((claim) => isSameClaim(claim, offer));
    const { defaultSelector: selector = { matchAll: true } } = offer;
    const claim = effectiveClaim({ verbs: ['*'], selector, ...(answer ?? offer) } as ScopedPermissionClaim, {
      verbs: ['*'],
      ...offer,
    });
    return { state: answer?.state ?? 'Not answered', claim };
  });
}

/** One line for people: `get and list secrets with the names ca and root, in the namespace default`. */
export function claimText({
  group,
  resource,
  verbs,
  selector,
  objects = {},
  subresources,
}: AnsweredClaim['claim']): string {
  const { names, namespaces, fieldSelector, references } = objects;
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const labels = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => [key, operator, values.join(',')].join(' ').trim()),
  ];
  const limits = [
    ...(names === undefined ? [] : [listText('with the name', names)]),
    ...(namespaces === undefined ? [] : [listText('in the namespace', namespaces)]),
    ...(fieldSelector === undefined ? [] : [`where ${fieldSelector}`]),
    ...(labels.length === 0 ? [] : [listText('with the label', labels, 'and')]),
    ...(references === undefined
      ? []
      : [
          references.length === 0
            ? 'named by no object'
            : `named by ${joined(
                references.map((one) => `${groupResourceText(one)} in ${one.path}`),
                'or',
              )}`,
        ]),
  ];
  const what = verbs.includes('*') ? 'everything with' : joined(verbs, 'and');
  const parts =
    subresources === undefined
      ? []
      : [subresources.length === 0 ? 'without subresources' : `of subresources only ${joined(subresources, 'and')}`];
  return [`${what} ${groupResourceText({ group: group ?? '', resource })}`, ...limits, ...parts].join(', ');
}

function listText(before: string, values: readonly string[], word: 'and' | 'or' = 'or'): string {
  if (values.length === 0) return `${before} of none`;
  return `${before}${values.length === 1 ? '' : 's'} ${joined(values, word)}`;
}

const joined = (words: readonly string[], word: 'and' | 'or'): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${word} ${words.at(-1)}`;
