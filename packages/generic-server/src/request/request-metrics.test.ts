import { expect, test } from '@jest/globals';
import { MetricsRegistry } from '@multiplane/component-base';
import type { Exchange } from '../server/exchange.ts';
import type { ServedResource } from './served-resource.ts';
import { RequestMetrics } from './request-metrics.ts';
import { resolveRequestInfo } from './request-info-resolver.ts';
import { parseRequestPath } from './request-path.ts';
import type { BaseExchange } from '../server/base-exchange.ts';

const definition = (origin: 'built-in' | 'custom', group: string, resource: string): ServedResource => ({
  origin,
  group,
  version: 'v1',
  resource,
  subresources: { status: {} },
});
const configMaps = definition('built-in', '', 'configmaps');

function setUp(options: { readonly readsFromCache?: boolean } = {}): {
  registry: MetricsRegistry;
  count: (method: string, url: string, what?: ServedResource, headers?: Exchange['headers']) => void;
} {
  const registry = new MetricsRegistry();
  const metrics = new RequestMetrics(registry, options);
  return {
    registry,
    count: (method, url, what, headers = {}) => {
      const info = resolveRequestInfo(method, parseRequestPath(url), undefined);
      metrics.finished({ url, headers, bytesSent: 10 } as unknown as BaseExchange, info, what, 200, 30);
    },
  };
}

const total = (labels: string): string => `apiserver_request_total{${labels}`;

test.each<[string, string, ServedResource | undefined, string]>([
  [
    'GET',
    '/api/v1/namespaces/n/configmaps',
    configMaps,
    'verb="LIST",group="",version="v1",resource="configmaps",subresource="",scope="namespace"',
  ],
  [
    'GET',
    '/api/v1/configmaps?watch=1',
    configMaps,
    'verb="WATCH",group="",version="v1",resource="configmaps",subresource="",scope="cluster"',
  ],
  [
    'PATCH',
    '/api/v1/namespaces/n/configmaps/a/status',
    configMaps,
    'verb="PATCH",group="",version="v1",resource="configmaps",subresource="status",scope="resource"',
  ],
  [
    'GET',
    '/api/v1/namespaces/n/configmaps/a/made-up',
    configMaps,
    'verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource"',
  ],
  ['GET', '/apis/made.up/v1/things', undefined, 'verb="LIST",group="",version="",resource="",subresource="",scope=""'],
  ['GET', '/healthz', undefined, 'verb="GET",group="",version="",resource="",subresource="/healthz",scope=""'],
  ['GET', '/made-up', undefined, 'verb="GET",group="",version="",resource="",subresource="",scope=""'],
  ['BREW', '/made-up', undefined, 'verb="other",group="",version="",resource="",subresource="",scope=""'],
])('%s %s', async (method, url, what, labels) => {
  const { registry, count } = setUp();
  count(method, url, what);
  expect(await registry.render()).toContain(`${total(labels)},component="apiserver",dry_run="",code="200"} 1\n`);
});

test('apply and dry runs have labels of their own', async () => {
  const { registry, count } = setUp();
  count('PATCH', '/api/v1/namespaces/n/configmaps/a?dryRun=All', configMaps, {
    'content-type': 'application/apply-patch+yaml',
  });
  count('POST', '/api/v1/namespaces/n/configmaps?dryRun=x', configMaps);
  const text = await registry.render();
  expect(text).toContain('verb="APPLY"');
  expect(text).toContain('dry_run="All"');
  expect(text).toContain('dry_run="invalid"');
});

test('watches have no durations', async () => {
  const { registry, count } = setUp();
  count('GET', '/api/v1/configmaps?watch=1', configMaps);
  count('GET', '/api/v1/configmaps', configMaps);
  const text = await registry.render();
  expect(text).toContain('apiserver_request_duration_seconds_bucket{le="0.1",verb="LIST"');
  expect(text).not.toMatch(/apiserver_request_duration_seconds_count\{verb="WATCH".*\} [^0]/);
  expect(text).toContain('apiserver_response_sizes_sum{verb="LIST",scope="cluster",component="apiserver"} 10\n');
});

test('lists that the watch cache answers are counted by resource', async () => {
  const { registry, count } = setUp({ readsFromCache: true });
  for (const scope of ['/api/v1', '/api/v1/namespaces/n', '/api/v1/namespaces/n'])
    count('GET', `${scope}/configmaps`, configMaps);
  count('GET', '/api/v1/namespaces/n/configmaps/one', configMaps);
  count('GET', '/apis/g.example.com/v1/notes', { ...definition('custom', 'g.example.com', 'notes'), virtual: {} });
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('apiserver_cache_list_total'));
  expect(lines).toEqual(['apiserver_cache_list_total{group="",resource="configmaps",index=""} 3']);
});

test('the number of series does not grow with the resources of tenants', async () => {
  const { registry, count } = setUp();
  for (let i = 0; i < 1000; i++) {
    count('GET', `/apis/g${i}.example.com/v1/things${i}`, definition('custom', `g${i}.example.com`, `things${i}`));
  }
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('apiserver_request_total{'));
  expect(lines).toHaveLength(13);
  expect(lines.at(-1)).toContain('group="other",version="other",resource="other"');
  expect(lines.at(-1)).toMatch(/ 988$/);
});

test('whatever is requested, the series stay below the limit and their sum is exact', async () => {
  const { registry, count } = setUp({ readsFromCache: true });
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'BREW'];
  const queries = ['', '?watch=1', '?dryRun=All', '?dryRun=x'];
  let requests = 0;
  for (let i = 0; i < 100; i++)
    for (const method of methods)
      for (const query of queries)
        for (const path of [`r${i}`, `namespaces/n/r${i}`, `namespaces/n/r${i}/a`, `namespaces/n/r${i}/a/status`]) {
          const what = definition(i % 2 === 0 ? 'custom' : 'built-in', `g${i}`, `r${i}`);
          count(method, `/apis/g${i}/v1/${path}${query}`, what);
          requests++;
        }
  const lines = (await registry.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines.length).toBeLessThanOrEqual(registry.seriesLimit);
  const sum = lines
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  expect(sum).toBe(requests);
});
