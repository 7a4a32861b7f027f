import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  binding,
  bound,
  create,
  inCluster,
  mergePatch,
  object,
  readyExport,
  readyWorkspace,
  schemaObject,
  simpleSchema,
} from '../kcp/kcp-steps.ts';
import { mutated } from '../mutations.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const users = ['admin', 'admin', 'admin', 'admin', 'user-1', 'anonymous'];
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const partial = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const widgets = '/apis/example.dev/v1/namespaces/default/widgets';
const configMaps = '/api/v1/namespaces/default/configmaps';

const widget = (random: Random, name: string): Body =>
  mutated(
    random,
    object('example.dev/v1', 'Widget', name, { spec: { size: random.pick<unknown>([1, 2, 'x']) } }),
    random.chance(0.2) ? 1 : 0,
  );

/** A request to the virtual workspace of an export: documents, lists and writes, in one or in all logical clusters. */
function request(random: Random): Step {
  const base = `/services/apiexport/{{w}}/things/clusters/${random.weighted([
    [5, '{{c}}'],
    [4, '*'],
    [1, '{{w}}'],
    [0.5, 'nosuch'],
  ])}`;
  const as = random.pick(users);
  const name = random.pick(['a', 'b', 'nosuch']);
  const ignore = ['/resources/*/storageVersionHash', '/paths/*/serverRelativeURL', '/columnDefinitions'];
  return random.weighted<() => Step>([
    [
      3,
      () => ({
        as,
        path: `${base}${random.pick(['/api', '/api/v1', '/apis', '/apis/', '/apis/example.dev', '/apis/example.dev/v1', '/apis/apis.kcp.io/v1alpha2', '/apis/x.dev/v1', '/openapi/v3', '/openapi/v2', '/', '', '/healthz', '/x'])}`,
        unordered: ['/groups', '/resources'],
        ignore,
      }),
    ],
    [
      3,
      () => ({
        as,
        path: `${base}${random.pick(['/apis/example.dev/v1/widgets', widgets, configMaps, '/api/v1/configmaps', '/api/v1/secrets', '/apis/apis.kcp.io/v1alpha2/apibindings', '/apis/example.dev/v1/nosuch'])}?${random.pick(['', 'limit=1', 'fieldSelector=metadata.name%3Da', 'labelSelector=a%3Db', 'labelSelector=a%20b', 'resourceVersion=x'])}`,
        headers: { accept: random.pick(['application/json', 'application/json', table, partial]) },
        unordered: ['/items'],
        ignore: [
          ...ignore,
          '/metadata/continue',
          '/metadata/remainingItemCount',
          '/items/*/metadata/generation',
          '/rows/*/object/metadata/generation',
        ],
      }),
    ],
    [2, () => ({ as, path: `${base}${random.pick([widgets, configMaps])}/${name}` })],
    [3, () => ({ as, ...create(`${base}${widgets}`, widget(random, name)) })],
    [
      2,
      () => ({
        as,
        ...create(
          `${base}${configMaps}`,
          object('v1', 'ConfigMap', name, { metadata: { name, labels: random.pick<Body>([{ a: 'b' }, {}]) } }),
        ),
      }),
    ],
    [
      2,
      () => ({
        as,
        method: 'PATCH',
        path: `${base}${random.pick([widgets, widgets, configMaps])}/${name}${random.pick(['', '', '/status'])}`,
        headers: { 'content-type': mergePatch },
        body: random.pick<unknown>([
          { spec: { size: 3 } },
          { spec: { size: 'x' } },
          { status: { state: 'a' } },
          { metadata: { labels: { a: random.pick(['b', 'c', null]) } } },
        ]),
      }),
    ],
    [2, () => ({ as, method: 'DELETE', path: `${base}${random.pick([widgets, configMaps])}/${name}` })],
    [0.5, () => ({ as, method: 'DELETE', path: `${base}${widgets}`, unordered: ['/items'] })],
    [
      1,
      () => ({
        as,
        method: random.pick(['PATCH', 'PUT', 'DELETE']),
        path: `${base}/apis/apis.kcp.io/v1alpha2/apibindings/things`,
        headers: { 'content-type': mergePatch },
        body: { metadata: { labels: { a: 'b' } } },
      }),
    ],
  ])();
}

const acceptance = (random: Random): Body => ({
  group: '',
  resource: 'configmaps',
  verbs: ['*'],
  state: random.pick(['Accepted', 'Accepted', 'Rejected']),
  selector: random.pick<Body>([{ matchAll: true }, { matchAll: true }, { matchLabels: { a: 'b' } }]),
});

/** Requests through the virtual workspace of an export that one consumer has bound. */
export const kcpVirtualWorkspaces: Topic = {
  name: 'kcp-virtual-workspaces',
  isKcp: true,
  steps(random) {
    const claims = random.chance(0.7);
    const permissionClaims = [{ group: '', resource: 'configmaps', verbs: ['*'] }];
    const steps = [
      ...readyWorkspace('w'),
      ...readyWorkspace('c'),
      ...readyExport(
        'w',
        'things',
        [schemaObject('widgets', simpleSchema('widgets', 'Widget', 'Namespaced'))],
        claims ? { permissionClaims } : {},
      ),
      ...bound(
        'c',
        binding('things', 'root:w-{{run}}', 'things', claims ? { permissionClaims: [acceptance(random)] } : {}),
      ),
      create(inCluster('c', widgets), object('example.dev/v1', 'Widget', 'a', { spec: { size: 1 } }), {
        until: { status: 201, within: 120 },
        only: [],
      }),
      {
        path: '/services/apiexport/{{w}}/things/clusters/{{c}}/apis/example.dev/v1/widgets',
        until: { contains: '"a"', within: 120 },
        only: ['/kind'],
      },
    ];
    for (let count = 25 + random.int(10); count > 0; count--) steps.push(request(random));
    return steps;
  },
};
