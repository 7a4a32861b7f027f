import { kinds } from '../kinds.ts';
import { oddString } from '../odd-values.ts';
import type { Random } from '../random.ts';
import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Topic } from '../topic.ts';

const groups = [
  ...new Set(kinds.map(({ group }) => group)),
  'apiextensions.k8s.io',
  'authorization.k8s.io',
  'authentication.k8s.io',
  'events.k8s.io',
].filter((group) => group !== '');
const discoveryTypes = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json',
  'application/json',
  'application/yaml',
  'text/html',
  '*/*',
];

function request(random: Random): Step {
  const group = random.pick(groups);
  const headers = { accept: random.pick(discoveryTypes) };
  return random.weighted<() => Step>([
    [3, () => ({ path: `/apis/${group}`, headers, yaml: true })],
    [3, () => ({ path: `/apis/${group}/v1`, headers, yaml: true, ignore: ['/resources/*/storageVersionHash'] })],
    [1, () => ({ path: '/api', headers, yaml: true, ignore: ['/serverAddressByClientCIDRs'] })],
    [1, () => ({ path: `/apis/${group}/${random.pick(['v9', 'v1beta1', 'V1', ''])}`, headers })],
    [1, () => ({ path: `/apis/${group}/v1/unknown`, headers })],
    // Whole documents.
    [1, () => ({ path: `/openapi/v3/apis/${group}${random.pick(['/v1', '/v1', '/v9', ''])}` })],
    [
      0.5,
      () => ({ path: `/openapi/v3/${random.pick(['api', 'api/v1', 'apis', 'version', 'openid/v1/jwks', 'none'])}` }),
    ],
    [0.2, () => ({ path: '/openapi/v2' })],
    [0.5, () => ({ path: '/apis', headers, yaml: true })],
    [0.5, () => ({ path: '/api/v1', headers, yaml: true, ignore: ['/resources/*/storageVersionHash'] })],
    [1, () => ({ path: random.pick(['/openapi/v2', '/openapi/v3']), headers, only: ['/swagger', '/info/title'] })],
    [
      1,
      () => ({
        path: random.pick([
          '/healthz',
          '/livez',
          '/readyz',
          '/healthz/ping',
          '/livez/ping',
          '/healthz/none',
          '/version/',
          '/apis/',
          '/api/',
          '/api/v2',
          '/api/v1/',
          '/x',
          '/apis/x',
          '/apis/x/v1',
          '/logs',
        ]),
        headers,
        yaml: true,
        ignore: ['/serverAddressByClientCIDRs', '/resources/*/storageVersionHash'],
      }),
    ],
    [1, () => ({ path: `/api/v1/namespaces/${encodeURIComponent(oddString(random) || 'x')}` })],
    [1, () => ({ path: `/api/v1/${encodeURIComponent(oddString(random) || 'x')}` })],
    [
      1,
      () => ({
        method: random.pick(['POST', 'PUT', 'DELETE', 'PATCH']),
        path: random.pick([
          '/api',
          '/apis',
          `/apis/${group}`,
          `/apis/${group}/v1`,
          '/version',
          '/healthz',
          '/openapi/v2',
        ]),
        ignore: ['/serverAddressByClientCIDRs', '/resources/*/storageVersionHash'],
      }),
    ],
    [
      0.5,
      () => ({
        as: 'anonymous',
        path: random.pick(['/api', '/apis', '/version', '/healthz', '/openapi/v2', '/x']),
        only: ['/message', '/reason'],
      }),
    ],
  ])();
}

/** Discovery, OpenAPI, health and other paths outside of resources. */
export const documents: Topic = {
  name: 'documents',
  steps: (random) => Array.from({ length: 4 }, () => request(random)),
};
