import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import { create, inCluster, mergePatch, object, readyWorkspace, tenancy, workspace } from '../kcp/kcp-steps.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';

/** A request to a virtual workspace of one end of the lifecycle. */
function request(random: Random, service: string, noun: string): Step {
  const type = random.weighted([
    [8, '{{w}}:held'],
    [1, 'root:w-{{run}}:held'],
    [1, '{{w}}:nosuch'],
    [0.5, 'nocolon'],
    [0.5, 'root:universal'],
  ]);
  const base = `/services/${service}/${type}/clusters/${random.weighted([
    [5, '{{x}}'],
    [3, '*'],
    [1, '{{w}}'],
    [0.5, 'nosuch'],
  ])}`;
  const as = random.pick(['admin', 'admin', 'admin', 'user-1', 'anonymous']);
  const ignore = [
    '/resources/*/storageVersionHash',
    '/paths/*/serverRelativeURL',
    '/metadata/annotations/internal.kcp.io~1replicate',
  ];
  return random.weighted<() => Step>([
    [
      3,
      () => ({
        as,
        path: `${base}${random.pick(['/api', '/apis', '/apis/core.kcp.io', '/apis/core.kcp.io/v1alpha1', '/openapi/v3', '/openapi/v2', '/', '/healthz', '/version'])}`,
        only: [
          '/kind',
          '/groups/0',
          '/resources/0/name',
          '/resources/0/verbs',
          '/resources/1/name',
          '/resources/1/verbs',
          '/message',
          '/code',
        ],
      }),
    ],
    [
      3,
      () => ({
        as,
        path: `${base}${logicalClusters}${random.pick(['', '/cluster', '/cluster/status', '/nosuch'])}`,
        only: [
          '/kind',
          '/metadata/name',
          '/status/phase',
          `/status/${noun}s`,
          '/items/0/metadata/name',
          '/items/0/status/phase',
          '/items/1',
          '/message',
          '/reason',
          '/code',
          '/details',
        ],
      }),
    ],
    [
      3,
      () => ({
        as,
        method: random.pick(['PATCH', 'PATCH', 'PATCH', 'PUT', 'DELETE']),
        path: `${base}${logicalClusters}/cluster${random.pick(['/status', '/status', ''])}`,
        headers: { 'content-type': mergePatch },
        body: random.pick<Body>([
          { status: { [`${noun}s`]: [] } },
          { status: { [`${noun}s`]: ['x'] } },
          { status: { conditions: [{ type: 'A', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] } },
          { metadata: { labels: { a: 'b' } } },
        ]),
        only: ['/kind', '/status/phase', `/status/${noun}s`, '/message', '/reason', '/code', '/details'],
      }),
    ],
    [
      2,
      () => ({
        as,
        ...create(`${base}/api/v1/namespaces/default/configmaps`, object('v1', 'ConfigMap', random.pick(['a', 'b']))),
        ignore,
      }),
    ],
    [1, () => ({ as, path: `${base}/api/v1/namespaces/default/configmaps/a`, ignore })],
  ])();
}

/** Workspaces that wait for an initializer or a terminator, through the virtual workspaces of its type. */
export const kcpLifecycle: Topic = {
  name: 'kcp-lifecycle',
  isKcp: true,
  steps(random) {
    const isInitializer = random.chance(0.5);
    const noun = isInitializer ? 'initializer' : 'terminator';
    const service = isInitializer ? 'initializingworkspaces' : 'terminatingworkspaces';
    const permissions = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get'] }];
    const spec = { [noun]: true, ...(random.chance(0.3) ? { [`${noun}Permissions`]: permissions } : {}) };
    const child = inCluster('w', `${tenancy}/workspaces/x`);
    const steps: Step[] = [
      ...readyWorkspace('w'),
      create(
        inCluster('w', `${tenancy}/workspacetypes`),
        object('tenancy.kcp.io/v1alpha1', 'WorkspaceType', 'held', { spec }),
        { only: [] },
      ),
      create(inCluster('w', `${tenancy}/workspaces`), workspace('x', { type: { name: 'held' } }), {
        until: { status: 201, within: 120 },
        only: [],
      }),
      {
        path: child,
        until: { contains: isInitializer ? 'InitializerExists' : '"phase":"Ready"', within: 120 },
        capture: { x: '/spec/cluster' },
        only: ['/status/phase', '/message'],
      },
      ...(isInitializer
        ? []
        : [
            { method: 'DELETE', path: child, only: [] },
            {
              path: inCluster('x', `${logicalClusters}/cluster`),
              until: { contains: 'deletionTimestamp', within: 120 },
              only: [],
            },
          ]),
      {
        path: `/services/${service}/{{w}}:held/clusters/*${logicalClusters}`,
        until: { contains: '{{x}}', within: 120 },
        only: ['/kind'],
      },
    ];
    for (let count = 6 + random.int(6); count > 0; count--) steps.push(request(random, service, noun));
    steps.push(
      {
        method: 'PATCH',
        path: `/services/${service}/{{w}}:held/clusters/{{x}}${logicalClusters}/cluster/status`,
        headers: { 'content-type': mergePatch },
        body: { status: { [`${noun}s`]: [] } },
        only: [],
      },
      isInitializer
        ? { path: child, until: { contains: '"phase":"Ready"', within: 120 }, only: ['/status/phase', '/message'] }
        : { path: child, until: { status: 404, within: 120 }, only: ['/status/phase', '/message'] },
    );
    return steps;
  },
};
