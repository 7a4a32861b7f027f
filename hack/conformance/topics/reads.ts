import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectOf } from '../kinds.ts';
import type { Body, Kind } from '../grammar.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';

const selectors = [
  'n=a',
  'n!=a',
  'n',
  '!n',
  'n in (a,b)',
  'n notin (a)',
  'n in ()',
  'n>1',
  'n>x',
  'n==a,n!=b',
  'n=',
  '=a',
  ',',
  'n in (a',
  'a b',
  'x/y/z=a',
  'n=a b',
  `n=${'a'.repeat(64)}`,
  'n in (a,,b)',
  '(n)',
  'n=ü',
];
const fieldSelectors = [
  'metadata.name=a',
  'metadata.name!=a',
  'metadata.namespace=t-{{run}}',
  'metadata.name=a,metadata.name=b',
  'metadata.name',
  'metadata.uid=x',
  'spec.x=1',
  'type=Opaque',
  'type!=Opaque',
  'involvedObject.name=a',
  'reason=Other',
  'spec.signerName=example.com/signer',
  '=',
  'metadata.name=a\\,b',
  'metadata.name==a',
  'metadata.labels.a=1',
];
const numbers = ['0', '1', '2', '500', '-1', 'x', '', '99999999999999999999', '1.5'];
const flags = ['true', 'false', '1', '0', '', 'x', 'TRUE'];
const revisions = ['0', '1', '{{rv}}', '{{rv}}', '', 'x', '-1', '01', '99999999999999999999'];

/** One query option of LIST, valid or not. */
function option(random: Random): string {
  const [name, values] = random.weighted<readonly [string, readonly string[]]>([
    [5, ['labelSelector', selectors]],
    [4, ['fieldSelector', fieldSelectors]],
    [4, ['limit', numbers]],
    [3, ['resourceVersion', revisions]],
    [3, ['resourceVersionMatch', ['NotOlderThan', 'Exact', 'x', '']]],
    [2, ['continue', ['x', '', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0', '{{next}}', '{{next}}']]],
    [1, ['timeoutSeconds', numbers]],
    [1, ['timeout', ['1s', '10', 'x', '-1s', '2h']]],
    [1, ['pretty', flags]],
    [1, ['allowWatchBookmarks', flags]],
    [2, ['sendInitialEvents', flags]],
    [1, ['unknown', ['x']]],
    [0.5, ['watch', ['false', '0']]],
  ]);
  return `${name}=${encodeURIComponent(random.pick(values)).replaceAll('%7B%7B', '{{').replaceAll('%7D%7D', '}}')}`;
}

function labelled(random: Random, kind: Kind, name: string, n: string): Body {
  const object = objectOf(random, kind, name);
  return { ...object, metadata: { name, labels: { run: '{{run}}', ...(n === 'c' ? {} : { n }) } } };
}

/** Objects `a`, `b`, `c` of a kind, made whatever random content is refused. */
export function threeObjects(random: Random, kind: Kind): Step[] {
  const steps: Step[] = kind.isNamespaced ? [createNamespace] : [];
  for (const n of ['a', 'b', 'c'])
    steps.push({
      method: 'POST',
      path: collectionPath(kind),
      body: labelled(random, kind, kind.isNamespaced ? n : `${n}-{{run}}`, n),
      capture: { rv: '/metadata/resourceVersion' },
    });
  return steps;
}

/** Kinds of which controllers make no objects of their own, so that whole collections can be compared. */
export const quietKinds = kinds.filter(({ resource }) => !/^(configmaps|serviceaccounts|secrets)$/.test(resource));

const onlyOwn = 'labelSelector=run%3D{{run}}';

/** Options that select none of the objects that other scenarios make; a server reads only the first of several selectors. */
function withOwn(options: readonly string[]): string[] {
  if (!options.some((each) => each.startsWith('labelSelector='))) return [onlyOwn, ...options];
  return options.map((each) => each.replace(/^labelSelector=/, `${onlyOwn}%2C`));
}

/** LIST and GET with every query option, selectors, and pages while writes go on. */
export const reads: Topic = {
  name: 'reads',
  steps(random) {
    const kind = random.pick(quietKinds);
    const collection = collectionPath(kind);
    const steps = threeObjects(random, kind);
    const scoped = (options: readonly string[]): string => (kind.isNamespaced ? options : withOwn(options)).join('&');
    for (let count = 3 + random.int(5); count > 0; count--) {
      steps.push(
        ...random.weighted<() => Step[]>([
          [
            6,
            () => [
              {
                path: `${collection}?${scoped([...random.list(2, () => option(random)), option(random)])}`,
                capture: {},
              },
            ],
          ],
          [
            2,
            () => [
              {
                path: `${collection}?${scoped(['limit=1'])}`,
                capture: { next: '/metadata/continue', rv: '/metadata/resourceVersion' },
              },
            ],
          ],
          [
            2,
            () => [
              { path: `${collection}?${onlyOwn}&limit=1`, capture: { next: '/metadata/continue' } },
              ...(random.chance(0.5)
                ? [{ method: 'DELETE', path: `${collection}/${kind.isNamespaced ? 'b' : 'b-{{run}}'}` }]
                : []),
              { path: `${collection}?${onlyOwn}&limit=${random.pick(['1', '0', '5'])}&continue={{next}}` },
            ],
          ],
          [2, () => [{ path: `${collection}/${kind.isNamespaced ? 'a' : 'a-{{run}}'}?${option(random)}` }]],
          [1, () => [{ method: 'HEAD', path: `${collection}?${onlyOwn}` }]],
          [
            1,
            () => [
              {
                method: random.pick(['OPTIONS', 'TRACE', 'X', 'PATCH', 'PUT', 'get']),
                path: `${collection}?${onlyOwn}`,
              },
            ],
          ],
        ])(),
      );
    }
    return steps;
  },
};

const watchOption = (random: Random): string =>
  random.chance(0.5)
    ? option(random)
    : random.pick([
        'allowWatchBookmarks=true',
        'resourceVersion=0',
        'resourceVersion={{rv}}',
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
        'sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
        'sendInitialEvents=true',
        'resourceVersionMatch=NotOlderThan',
        'timeoutSeconds=1',
      ]);

/** Watches with all options, while objects are created, changed and deleted. */
export const watches: Topic = {
  name: 'watches',
  steps(random) {
    const kind = random.pick(quietKinds);
    const collection = collectionPath(kind);
    const steps = threeObjects(random, kind);
    const scope = kind.isNamespaced && random.chance(0.6) ? [] : [onlyOwn];
    const options = [...scope, ...random.list(1, () => watchOption(random)), watchOption(random)].filter(
      // A second selector would replace the first on one server and not be read on the other.
      (each, index) => index === 0 || scope.length === 0 || !each.startsWith('labelSelector='),
    );
    steps.push({ watch: 'w', path: `${collection}?watch=${random.pick(['true', '1'])}&${options.join('&')}` });
    for (let count = 1 + random.int(4); count > 0; count--) {
      const n = random.pick(['a', 'b', 'c', 'd']);
      const name = kind.isNamespaced ? n : `${n}-{{run}}`;
      const path = `${collection}/${name}`;
      steps.push(
        random.weighted<() => Step>([
          [2, () => ({ method: 'POST', path: collection, body: labelled(random, kind, name, n) })],
          [
            4,
            () => ({
              method: 'PATCH',
              path,
              headers: { 'content-type': 'application/merge-patch+json' },
              body: {
                metadata: {
                  labels: { n: random.pick(['a', 'b', 'z', null]) },
                  annotations: { x: random.pick(['1', '2']) },
                },
              },
            }),
          ],
          [2, () => ({ method: 'DELETE', path })],
        ])(),
      );
    }
    steps.push({ collect: 'w', count: 1000, quiet: 400, path: '' });
    return steps;
  },
};
