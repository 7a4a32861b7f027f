import { isDeepStrictEqual } from 'node:util';
import type { Value } from '../../e2e/conformance/json-pointer.ts';

type Members = Record<string, Value>;
const isObject = (value: Value): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface NamedList {
  readonly list: string;
  readonly nameOf: (element: Members) => Value;
  /** The list in each element. */
  readonly inner?: NamedList;
}

/** Lists of discovery by kind: where they stand, and what names an element. */
const lists: Readonly<Record<string, NamedList>> = {
  APIGroupList: { list: 'groups', nameOf: ({ name }) => name },
  APIResourceList: { list: 'resources', nameOf: ({ name }) => name },
  APIGroupDiscoveryList: {
    list: 'items',
    // The core group has no name.
    nameOf: ({ metadata }) => (isObject(metadata) ? (metadata['name'] ?? '') : undefined),
    inner: {
      list: 'versions',
      nameOf: ({ version }) => version,
      inner: { list: 'resources', nameOf: ({ resource }) => resource },
    },
  },
};

/**
 * Two answers with documents in a form that is compared member by member: lists of discovery by name, with the order of those
 * names that both have, and parameters of OpenAPI in their places (kube-apiserver's version 2 shares them by reference).
 */
export function comparableDocuments(reference: Value, subject: Value): [Value, Value] {
  const [expected, seen] = [bodyOf(reference), bodyOf(subject)];
  if (expected === undefined || seen === undefined) return [reference, subject];
  const [left, right] = byName(withoutSharedParameters(expected), withoutSharedParameters(seen));
  return [
    { ...(reference as Members), body: left },
    { ...(subject as Members), body: right },
  ];
}

function bodyOf(answer: Value): Members | undefined {
  const body = isObject(answer) ? answer['body'] : undefined;
  return isObject(body) ? body : undefined;
}

function byName(left: Members, right: Members): [Members, Members] {
  const form = left['kind'] === right['kind'] ? lists[String(left['kind'])] : undefined;
  if (form === undefined) return [left, right];
  const [ours, theirs] = [named(left, form), named(right, form)];
  const [one, two] = [namesIn(ours, theirs, form), namesIn(theirs, ours, form)];
  return isDeepStrictEqual(one, two)
    ? [ours, theirs]
    : [
        { ...ours, order: one },
        { ...theirs, order: two },
      ];
}

function namesIn(holder: Members, other: Members, { list }: NamedList): string[] {
  const names = other[list];
  return isObject(names) ? Object.keys((holder[list] ?? {}) as Members).filter((name) => name in names) : [];
}

/** The holder of a list with the elements by name, inner lists likewise. */
function named(holder: Members, { list, nameOf, inner }: NamedList): Members {
  const elements = holder[list];
  if (!Array.isArray(elements)) return holder;
  const members = elements.map((element: Value, index): [string, Value] => {
    if (!isObject(element)) return [`${index}`, element];
    const name = nameOf(element);
    return [typeof name === 'string' ? name : `${index}`, inner === undefined ? element : named(element, inner)];
  });
  return { ...holder, [list]: Object.fromEntries(members) };
}

const prefix = '#/parameters/';

function withoutSharedParameters(body: Members): Members {
  const { parameters, ...document } = body;
  if (body['swagger'] !== '2.0' || !isObject(parameters)) return body;
  const inlined = (value: Value): Value => {
    if (Array.isArray(value)) return value.map(inlined);
    if (!isObject(value)) return value;
    const reference = value['$ref'];
    if (typeof reference === 'string' && reference.startsWith(prefix))
      return parameters[reference.slice(prefix.length)];
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inlined(member)]));
  };
  return inlined(document) as Members;
}
