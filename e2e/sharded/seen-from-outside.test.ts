import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mapConcurrently } from '@multiplane/apimachinery';
import { RestTransport } from '@multiplane/client';
import { runAndEnd, type Span } from '@multiplane/component-base';
import {
  eventually,
  generatedCases,
  TempDir,
  TraceCollector,
  type CollectedSpan,
  unlessMissing,
} from '@multiplane/testing';
import fc from 'fast-check';
import { configMap } from '../fixtures/gadgets.ts';
import { monitoredMetrics, monitoringDashboards, monitoringRules } from '../../hack/monitoring/monitored-metrics.ts';
import { playRounds } from '../harness/keep-alive-rounds.ts';
import { LocalCluster } from '../harness/local-cluster.ts';
import { missingPrometheus, Prometheus } from '../harness/prometheus.ts';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * What operators see of a sharded control plane: one trace over all servers that a request passes, and metrics whose number
 * does not grow with tenants. And that every server of it answers every request of a connection.
 */

/** The most series that `/metrics` of a server may have. */
const maxSeries = 1_500;
const tenants = 120;
const definitions = 40;
const maps = '/api/v1/namespaces/default/configmaps';

/** As in the compose file. */
const openToPrometheus = ['--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics'];

let directory: TempDir;
let collector: TraceCollector;
let cluster: ShardedCluster;
let requests: Requests;

beforeAll(async () => {
  directory = await TempDir.create('traces');
  collector = await TraceCollector.start();
  writeFileSync(
    directory.join('tracing.yaml'),
    [
      'apiVersion: apiserver.config.k8s.io/v1',
      'kind: TracingConfiguration',
      `endpoint: ${collector.endpoint}`,
      'samplingRatePerMillion: 1000000',
    ].join('\n'),
  );
  cluster = await ShardedCluster.start({
    allFlags: [`--tracing-config-file=${directory.join('tracing.yaml')}`],
    cacheServerFlags: openToPrometheus,
    consoleFlags: openToPrometheus,
  });
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'traced', { shard: 'shard-1' });
  admin.close();
  await requests.must({
    method: 'POST',
    path: '/clusters/root:traced/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: {
      metadata: { name: 'tenant' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
    },
  });
  await eventually(() => requests.must({ path: `/clusters/root:traced${maps}`, as: 'user-1' }));
}, 240_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
  await directory?.remove();
});

/** Sends a request and returns its trace once it has the given spans, as `<server>: <span>`. */
async function traceOf(
  request: Parameters<Requests['must']>[0],
  ...wanted: readonly string[]
): Promise<readonly CollectedSpan[]> {
  const auditId = `traced-${Math.random()}`;
  await requests.must({ ...request, headers: { ...request.headers, 'audit-id': auditId } });
  return eventually(() => {
    const own = collector.spans.find(({ attributes }) => attributes['audit-id'] === auditId);
    const spans = collector.trace(own?.traceId ?? '');
    expect(spans.map(label)).toEqual(expect.arrayContaining([...wanted]));
    return spans;
  });
}

const label = ({ service, name }: CollectedSpan): string => `${service.replace('multiplane-', '')}: ${name}`;

/** The spans from the root of the trace to one of them. */
function pathTo(spans: readonly CollectedSpan[], last: string): string[] {
  const path: string[] = [];
  for (let span = spans.find((each) => label(each) === last); span !== undefined;) {
    path.unshift(label(span));
    const { parentId } = span;
    span = spans.find(({ spanId }) => spanId === parentId);
  }
  return path;
}

/** Runs a request as a part of a trace whose id it returns. */
async function inTrace(request: () => Promise<unknown>): Promise<string> {
  const traceId = randomBytes(16).toString('hex');
  const span: Span = {
    isRecording: true,
    headers: ['traceparent', `00-${traceId}-b7ad6b7169203331-01`],
    child: () => span,
    set: () => undefined,
    end: () => undefined,
  };
  await runAndEnd(span, request);
  return traceId;
}

/** The names from the root of a trace to one of its spans; those of servers arrive one after the other. */
const pathIn = (traceId: string, last: string): string[] => pathTo(collector.trace(traceId), last);

/**
 * The path of a request in a trace, once it has so many spans. Asks again if they do not arrive: a server drops spans that the
 * collector, in this process, is too busy to take.
 */
const pathOf = (request: () => Promise<unknown>, last: string, spans: number): Promise<string[]> =>
  eventually(
    async () => {
      const traceId = await inTrace(request);
      return eventually(
        () => {
          const path = pathIn(traceId, last);
          if (path.length < spans) throw new Error(`the trace has ${JSON.stringify(path)}`);
          return path;
        },
        { timeout: 8_000 },
      );
    },
    { timeout: 60_000 },
  );

describe('traces', () => {
  test('a write is one trace over front-proxy, shard and etcd', async () => {
    const spans = await traceOf(
      {
        method: 'POST',
        path: `/clusters/root:traced${maps}`,
        as: 'user-1',
        body: configMap('traced', { password: 'do-not-record-me' }),
      },
      'front-proxy: POST proxy',
      'shard: serialize',
      'shard: etcd Txn',
    );
    const own = 'shard: POST /api/v1/namespaces/{:namespace}/configmaps';
    expect(pathTo(spans, 'shard: etcd Txn')).toEqual([
      'front-proxy: POST proxy',
      'front-proxy: proxy',
      own,
      'shard: storage create',
      'shard: etcd Txn',
    ]);
    for (const step of ['authorization', 'mutating admission', 'validating admission', 'serialize'])
      expect(pathTo(spans, `shard: ${step}`).slice(0, 3)).toEqual([
        'front-proxy: POST proxy',
        'front-proxy: proxy',
        own,
      ]);
    expect(spans.find((span) => label(span) === own)?.attributes).toMatchObject({
      'k8s.verb': 'create',
      'k8s.resource': 'configmaps',
    });
    expect(JSON.stringify(spans)).not.toMatch(/do-not-record-me|user-1-token/);
  });

  test('a list shows the time in which it is serialized', async () => {
    const [span] = await traceOf({ path: `/clusters/root:traced${maps}`, as: 'user-1' }, 'shard: serialize');
    const own = 'shard: GET /api/v1/namespaces/{:namespace}/configmaps';
    for (const step of ['shard: watch cache wait', 'shard: serialize'])
      await eventually(() =>
        expect(pathIn(span?.traceId ?? '', step)).toEqual(['front-proxy: GET proxy', 'front-proxy: proxy', own, step]),
      );
  });

  test('the cache server continues the trace of another server', async () => {
    const { port = 0 } = cluster.ports.find(({ name }) => name.startsWith('cache')) ?? {};
    const transport = transportTo(port);
    const path = '/services/cache/shards/*/clusters/*/apis/core.kcp.io/v1alpha1/shards';
    const own = 'cache-server: GET /apis/core.kcp.io/v1alpha1/shards';
    for (const step of ['cache-server: watch cache wait', 'cache-server: serialize'])
      expect(await pathOf(() => transport.json({ method: 'GET', path }), step, 2)).toEqual([own, step]);
    transport.close();
  }, 120_000);

  test('in one process, a request to a virtual workspace or the cache is one trace, too', async () => {
    await using local = await LocalCluster.start({
      flags: [`--tracing-config-file=${directory.join('tracing.yaml')}`],
    });
    const transport = local.transport('shard-base');
    const get = (path: string) => (): Promise<unknown> => transport.json({ method: 'GET', path });
    const workspaces = '/apis/tenancy.kcp.io/v1alpha1/workspaces';
    const provided = get(`/services/apiexport/root/tenancy.kcp.io/clusters/*${workspaces}`);
    const step = 'shard: serialize';
    // The virtual workspace, and the shard that it asks.
    const own = `shard: GET ${workspaces}`;
    expect(await pathOf(provided, step, 3)).toEqual([own, own, step]);
    const cached = get('/services/cache/shards/*/clusters/*/apis/core.kcp.io/v1alpha1/shards');
    expect(await pathOf(cached, step, 2)).toEqual(['shard: GET /apis/core.kcp.io/v1alpha1/shards', step]);
    transport.close();
  }, 180_000);

  test('a request to a virtual workspace is one trace over front-proxy, virtual workspaces and shard', async () => {
    const spans = await traceOf(
      {
        path: '/services/apiexport/root/tenancy.kcp.io/clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces',
      },
      'front-proxy: GET proxy',
      'virtual-workspaces: GET /apis/tenancy.kcp.io/v1alpha1/workspaces',
      'virtual-workspaces: proxy',
    );
    const shard = spans.filter(({ service }) => service === 'multiplane-shard');
    const behind = spans.find((span) => label(span) === 'virtual-workspaces: proxy');
    expect(shard.map(({ parentId }) => parentId)).toContain(behind?.spanId);
    expect(pathTo(spans, 'virtual-workspaces: proxy')[0]).toBe('front-proxy: GET proxy');
  });

  test('a tenant cannot put its requests into a trace of its own; the trace is linked', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const spans = await traceOf(
      {
        path: `/clusters/root:traced${maps}`,
        as: 'user-1',
        headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'a=b', baggage: 'a=b' },
      },
      'front-proxy: GET proxy',
    );
    expect(collector.trace(traceId)).toEqual([]);
    expect(spans.find((span) => label(span) === 'front-proxy: GET proxy')?.links).toEqual([traceId]);
  });
});

/** With a client certificate of system:masters, which every server of ours accepts. */
const transportTo = (port: number | string): RestTransport => {
  const read = (name: string): string => readFileSync(cluster.path('pki', 'shard-admin', name), 'utf8');
  return new RestTransport({
    config: { server: `https://127.0.0.1:${port}`, ca: cluster.ca, certificate: read('tls.crt'), key: read('tls.key') },
  });
};

describe('each request over a keep-alive HTTP/1.1 connection gets one complete response', () => {
  const { runs, seed } = generatedCases({ runs: 3, seed: 35 });
  const schemas = 'apis/apis.kcp.io/v1alpha1/apiresourceschemas';
  const provided = '/services/apiexport/root/tenancy.kcp.io/clusters/*';
  test.each([
    ['shard-root', `/clusters/root/${schemas}`, '/clusters/root:traced/api/v1/namespaces/default/configmaps'],
    ['front-proxy', `/clusters/root/${schemas}`, '/clusters/root:traced/api/v1/namespaces/default/configmaps'],
    ['virtual-workspaces-root', `${provided}/openapi/v2`, `${provided}/apis/tenancy.kcp.io/v1alpha1/workspaces`],
    [
      'cache-server',
      `/services/cache/shards/*/clusters/*/${schemas}`,
      `/services/cache/shards/*/clusters/*/${schemas}`,
    ],
    ['console', '/console/', '/console/login/token'],
  ])(
    'from %s',
    async (name, large, post) => {
      const port = cluster.ports.find((each) => each.name === name)?.port as number;
      const identity = (file: string): string => readFileSync(cluster.path('pki', 'shard-admin', file), 'utf8');
      const server = { port, ca: cluster.ca, cert: identity('tls.crt'), key: identity('tls.key'), large, post };
      const manner = fc.record({
        pieces: fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 4 }),
        framing: fc.constantFrom('length' as const, 'chunked' as const),
        expectsContinue: fc.boolean(),
        pipelines: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(manner, { minLength: 8, maxLength: 8 }), async (clients) => {
          const statuses = await Promise.all(clients.map((client) => playRounds(server, 4, client)));
          expect(statuses.map(({ length }) => length)).toEqual(clients.map(() => 8));
          expect(statuses.flat().filter((status) => status >= 500)).toEqual([]);
        }),
        { numRuns: runs, seed, endOnFailure: true },
      );
    },
    120_000,
  );
});

const withPrometheus = unlessMissing(missingPrometheus(), test);

describe('metrics', () => {
  test(`no server has more than ${maxSeries} series, whatever tenants do`, async () => {
    await mapConcurrently(
      Array.from({ length: tenants }, (_, i) => i),
      8,
      async (i) => {
        const as = (['user-1', 'user-2', 'masters'] as const)[i % 3];
        const group = `group-${i}.example.com`;
        const path = '/clusters/root:traced';
        await requests.must({
          method: 'POST',
          path: '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces',
          body: { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: `tenant-${i}` } },
        });
        if (i < definitions) {
          await requests.must({
            method: 'POST',
            path: `${path}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
            body: definition(group, i),
          });
          await requests.send({
            method: 'POST',
            path: '/clusters/system:admin/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
            body: flowSchema(i),
          });
        }
        const things = `${path}/apis/${group}/v1/things${i % definitions}`;
        const query = ['', '?dryRun=All', '?limit=x', '?labelSelector=__proto__'][i % 4] as string;
        await requests.send({ as, path: `${things}${query}`, headers: { 'impersonate-user': `user-${i}` } });
        const method = ['POST', 'PUT', 'PATCH', 'DELETE'][i % 4] as string;
        await requests.send({ as, method, path: `${things}/x/constructor${query}`, body: {} });
        await requests.send({ path: `/services/x${i}/y` });
      },
    );
    const all = await allMetrics();
    const components = ['front-proxy', 'shard', 'cache-server', 'virtual-workspaces'];
    expect(components.filter((component) => ![...all.keys()].some((name) => name.includes(component)))).toEqual([]);
    for (const [name, text] of all) {
      const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      expect([name, series.length > 10]).toEqual([name, true]);
      expect([name, Math.max(series.length, maxSeries)]).toEqual([name, maxSeries]);
      expect([name, series.filter((line) => /tenant-|root:|user-\d|system:admin/.test(line))]).toEqual([name, []]);
    }
  }, 300_000);

  test('shards count requests to etcd, servers those to other servers', async () => {
    const all = await allMetrics();
    const shard = [...all.values()].find((text) => text.includes('etcd_requests_total')) ?? '';
    for (const operation of ['get', 'list', 'create', 'update', 'delete'])
      expect(valueOf(shard, `etcd_requests_total{operation="${operation}"}`)).toBe(
        valueOf(shard, `etcd_request_duration_seconds_count{operation="${operation}"}`),
      );
    expect(valueOf(shard, 'etcd_requests_total{operation="create"}')).toBeGreaterThan(0);
    expect(valueOf(shard, 'etcd_request_duration_seconds_bucket{le="+Inf",operation="create"}')).toBeGreaterThan(0);
    const clients = [...all].filter(([, text]) => /^rest_client_requests_total\{code="200"/m.test(text));
    for (const component of ['front-proxy', 'shard', 'virtual-workspaces'])
      expect(clients.map(([name]) => name)).toContainEqual(expect.stringContaining(component));
  });

  withPrometheus(
    'Prometheus, configured as by the compose profile, reads every server and evaluates every rule and panel',
    readByPrometheus,
    120_000,
  );

  test('every metric that a rule or a dashboard reads is exported', async () => {
    const exported = new Set(
      [...(await allMetrics()).values()].flatMap((text) =>
        [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
          type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
        ),
      ),
    );
    const missing = monitoredMetrics().filter((name) => !exported.has(name) && !elsewhere.has(name));
    expect(missing).toEqual([]);
  }, 120_000);
});

async function allMetrics(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const { name, port } of cluster.ports) {
    if (/^(etcd|nats)/.test(name)) continue;
    const transport = transportTo(port);
    texts.set(name, await readText(transport, '/metrics'));
    transport.close();
  }
  return texts;
}

/** The value of a series; NaN without it. */
const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length) ?? Number.NaN,
  );

async function readByPrometheus(): Promise<void> {
  await using server = await Prometheus.start(cluster);
  const prometheus = server.client;
  const servers = cluster.processes.filter((name) => !/^(etcd|nats)/.test(name));
  await eventually(async () => {
    const targets = await prometheus.targets();
    expect(new Set(targets.map(({ labels }) => labels.process))).toEqual(new Set(servers));
    expect(targets.map(({ health, lastError }) => [health, lastError])).toEqual(servers.map(() => ['up', '']));
    const rules = await prometheus.rules();
    expect(rules).toHaveLength(monitoringRules().length);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });
  for (const { panels } of monitoringDashboards())
    for (const { expr } of panels.flatMap(({ targets }) => targets)) await prometheus.query(expr);
  await eventually(async () => {
    expect(await prometheus.query('multiplane:requests:rate5m')).not.toEqual([]);
  });
}

/** Metrics of Prometheus itself, and of servers with embedded or encrypted storage, which this cluster has not. */
const elsewhere: ReadonlySet<string> = new Set([
  'up',
  'scrape_samples_scraped',
  'multiplane_storage_quarantined_records',
  'apiserver_storage_decode_errors_total',
]);

async function readText(transport: RestTransport, path: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await transport.open({ method: 'GET', path, accept: '*/*' })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const definition = (group: string, i: number): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things${i}.${group}` },
  spec: {
    group,
    scope: 'Cluster',
    names: { plural: `things${i}`, singular: `thing${i}`, kind: `Thing${i}`, listKind: `Thing${i}List` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

const flowSchema = (i: number): object => ({
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  kind: 'FlowSchema',
  metadata: { name: `schema-${i}` },
  spec: {
    priorityLevelConfiguration: { name: 'workload-low' },
    matchingPrecedence: 100 + i,
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: `user-${i}` } }],
        nonResourceRules: [{ nonResourceURLs: ['*'], verbs: ['*'] }],
      },
    ],
  },
});
