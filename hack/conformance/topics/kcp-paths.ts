import type { Step } from '../../../e2e/conformance/scenario.ts';
import { readyWorkspace } from '../kcp/kcp-steps.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const clusters = [
  'root',
  'root:w-{{run}}',
  '{{w}}',
  '*',
  '%2A',
  'root%3Aw-{{run}}',
  'Root',
  'system:admin',
  'system:bound-crds',
  'system',
  'root:',
  ':root',
  'root::x',
  'ro_ot',
  'root.x',
  '-root',
  'root,x',
  'root%00',
  'root%252Fx',
  'x'.repeat(80),
  'root:w-{{run}}:w-{{run}}',
  'user:x',
];
const rests = [
  '/api/v1/namespaces/default',
  '/api/v1/namespaces?limit=1',
  '/api',
  '/apis',
  '/apis/tenancy.kcp.io/v1alpha1',
  '/apis/tenancy.kcp.io/v1alpha1/workspaces?limit=1',
  '/apis/core.kcp.io/v1alpha1/logicalclusters/cluster',
  '/apis/nosuch.dev/v1/things',
  '/healthz',
  '/readyz/ping',
  '/version',
  '/metrics',
  '/',
  '',
  '/clusters/root/api',
  '/services/apiexport/root/tenancy.kcp.io/clusters/root/api',
  '/nosuch',
  '/openapi/v3',
];
const services = [
  'apiexport',
  'initializingworkspaces',
  'terminatingworkspaces',
  'apiresourceschema',
  'replication',
  'nosuch',
  '',
];

function path(random: Random): string {
  const rest = random.pick(rests);
  if (random.chance(0.85)) return `/clusters/${random.pick(clusters)}${rest}`;
  return `/services/${random.pick(services)}/${random.pick(['root', '{{w}}', 'x'])}/${random.pick(['tenancy.kcp.io', 'x'])}/clusters/${random.pick(clusters)}${rest}`;
}

/** Every form of the path of a logical cluster, as every kind of user. */
export const kcpPaths: Topic = {
  name: 'kcp-paths',
  isKcp: true,
  steps(random) {
    const steps: Step[] = readyWorkspace('w');
    for (let count = 60; count > 0; count--)
      steps.push({
        as: random.pick(['admin', 'admin', 'masters', 'user-1', 'anonymous']),
        method: random.pick(['GET', 'GET', 'GET', 'GET', 'POST', 'DELETE', 'OPTIONS']),
        path: path(random),
        // Whole documents and metrics are compared elsewhere.
        only: ['/kind', '/apiVersion', '/message', '/reason', '/code', '/details'],
      });
    return steps;
  },
};
