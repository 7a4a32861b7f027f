import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { testTokens } from '../harness/local-cluster.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { createTenant, type Tenant } from '../harness/tenants.ts';

const patient = { timeout: 30_000 };
const merge = { 'content-type': 'application/merge-patch+json' };
const watchesAnnotation = 'limits.multiplane.dev/max-watches';
const shard = topologyName === 'sharded' ? 'shard-1' : undefined;

interface Usage {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly lastWriteTime?: string;
    readonly used: Readonly<Record<string, number>>;
    readonly limits: readonly { name: string; used?: number; max?: number; annotation: string; setBy: string }[];
  };
}

let cluster: ControlPlane;
let requests: Requests;
let tenant: Tenant;
beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
  tenant = await createTenant(cluster, 'used', { user: 'user-1', shard });
}, 180_000);
afterAll(async () => {
  await tenant?.[Symbol.asyncDispose]();
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const usagePath = (): string => `/clusters/${tenant.path}/apis/limits.multiplane.dev/v1alpha1/workspaceusages`;
const maps = (): string => `/clusters/${tenant.path}/api/v1/namespaces/default/configmaps`;
const usage = async (): Promise<Usage> =>
  (await requests.must({ as: 'user-1', path: `${usagePath()}/cluster` })).json as unknown as Usage;
const setOnWorkspace = (annotations: object): Promise<unknown> =>
  requests.must({
    method: 'PATCH',
    path: '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/used',
    headers: merge,
    body: { metadata: { annotations } },
  });

describe('the usage of a workspace', () => {
  test('is read by its administrator, and follows what is stored', async () => {
    const before = await usage();
    expect(before.metadata.name).toBe('cluster');
    expect(before.status.used['objects']).toBeGreaterThan(0);
    await requests.must({
      as: 'user-1',
      method: 'POST',
      path: maps(),
      body: { metadata: { name: 'a' }, data: { a: 'x'.repeat(10_000) } },
    });
    await eventually(async () => {
      const { status } = await usage();
      expect(status.used['objects']).toBe((before.status.used['objects'] ?? 0) + 1);
      expect(status.used['bytes']).toBeGreaterThan((before.status.used['bytes'] ?? 0) + 10_000);
      expect(Date.now() - Date.parse(status.lastWriteTime ?? '')).toBeLessThan(60_000);
    }, patient);
    await requests.must({ as: 'user-1', method: 'DELETE', path: `${maps()}/a` });
    await eventually(
      async () => expect((await usage()).status.used['objects']).toBe(before.status.used['objects']),
      patient,
    );
    const { status } = await usage();
    expect(status.used['requests']).toBeGreaterThan(before.status.used['requests'] ?? 0);
    // The request that reads it is one, too. Every limit has its use beside it.
    expect(status.used['requestsPerSecond']).toBeGreaterThan(0);
    expect(status.limits.map(({ name, used }) => [name, typeof used])).toEqual(
      [
        'objects',
        'bytes',
        'definitions',
        'schemaBytes',
        'watches',
        'connections',
        'requestsInFlight',
        'requestsPerSecond',
        'celCostPerSecond',
      ].map((name) => [name, 'number']),
    );
  });

  test('counts definitions and open watches, and names limits with who set them', async () => {
    await setOnWorkspace({ [watchesAnnotation]: '2' });
    await eventually(async () => {
      const { status } = await usage();
      expect(status.limits.find(({ name }) => name === 'watches')).toMatchObject({
        max: 2,
        annotation: watchesAnnotation,
        setBy: 'root',
      });
      expect(status.limits.find(({ name }) => name === 'objects')).toMatchObject({ max: 1_000_000, setBy: 'Default' });
    }, patient);
    const open = [
      await requests.watch(`${maps()}?watch=true`, 'user-1'),
      await requests.watch(`${maps()}?watch=true`, 'user-1'),
    ];
    await eventually(async () => expect((await usage()).status.used['watches']).toBe(2), patient);
    const refused = await requests.send({ as: 'user-1', path: `${maps()}?watch=true` });
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('1');
    expect(String(refused.json['message'])).toContain(
      `workspace "root:used" has reached its open watches limit, used: 2, requested: 1, limited: 2; an administrator of workspace "root" can raise it by the annotation ${watchesAnnotation}`,
    );
    open[0]?.close();
    await eventually(async () => expect((await usage()).status.used['watches']).toBe(1), patient);
    open[1]?.close();
    await setOnWorkspace({ [watchesAnnotation]: null });
  });

  test('shows as a table, in discovery and by kubectl explain', async () => {
    const table = await tenant.kubectl.ok(['get', 'usage']);
    expect(table).toMatch(
      /^NAME\s+OBJECTS\s+MAX OBJECTS\s+BYTES\s+MAX BYTES\s+DEFINITIONS\s+WATCHES\s+REQUESTS\s+LAST WRITE\ncluster\s+\d+\s+1000000\s+\d+\s+4294967296/,
    );
    expect(await tenant.kubectl.ok(['get', 'workspaceusages', '-o', 'name'])).toContain(
      'workspaceusage.limits.multiplane.dev/cluster',
    );
    expect(await tenant.kubectl.ok(['explain', 'workspaceusage.status.used'])).toContain('Open watches.');
    expect(await tenant.kubectl.ok(['api-resources', '--api-group=limits.multiplane.dev'])).toContain('WorkspaceUsage');
  });

  test('is read-only, and not for others', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await requests.send({
        as: 'user-1',
        method,
        path: `${usagePath()}/cluster`,
        headers: merge,
        body: {},
      });
      expect(answer.status).toBe(405);
    }
    const created = await requests.send({
      as: 'user-1',
      method: 'POST',
      path: usagePath(),
      body: { metadata: { name: 'x' } },
    });
    expect(created.status).toBe(405);
    expect((await requests.send({ as: 'user-2', path: `${usagePath()}/cluster` })).status).toBe(403);
    expect((await requests.send({ as: 'user-1', path: `${usagePath()}/other` })).status).toBe(404);
  });
});

test('beyond its requests per second a workspace is served while no other one waits', async () => {
  await setOnWorkspace({ 'limits.multiplane.dev/max-requests-per-second': '2' });
  await eventually(async () => {
    const { limits } = (await usage()).status;
    expect(limits.find(({ name }) => name === 'requestsPerSecond')).toMatchObject({ max: 2 });
  }, patient);
  // Ten may start at once. No request waits for so long that two per second would be enough for the others.
  await eventually(async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => requests.send({ as: 'user-1', path: `${maps()}?limit=1` })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }, patient);
  await setOnWorkspace({ 'limits.multiplane.dev/max-requests-per-second': null });
}, 60_000);

test('open requests beyond the limit get 429 with who can raise it', async () => {
  const annotation = 'limits.multiplane.dev/max-requests-in-flight';
  await setOnWorkspace({ [annotation]: '2' });
  // A create is open until it is stored, so creates that arrive together are open together.
  const creates = (): Promise<Response[]> =>
    Promise.all(
      Array.from({ length: 30 }, () =>
        requests.send({ as: 'user-1', method: 'POST', path: maps(), body: { metadata: { generateName: 'open-' } } }),
      ),
    );
  await eventually(async () => {
    const answers = await creates();
    const refused = answers.find(({ status }) => status === 429);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 429]));
    expect(refused?.headers['retry-after']).toBe('1');
    expect(String(refused?.json['message'])).toContain(
      `workspace "root:used" has reached its open requests limit, used: 2, requested: 1, limited: 2; an administrator of workspace "root" can raise it by the annotation ${annotation} of the Workspace`,
    );
  }, patient);
  // Nothing is left open: one after the other all are served.
  for (let i = 0; i < 5; i++) await requests.must({ as: 'user-1', path: `${maps()}?limit=1` });
  await setOnWorkspace({ [annotation]: null });
  await eventually(async () => {
    expect(new Set((await creates()).map(({ status }) => status))).toEqual(new Set([201]));
  }, patient);
}, 60_000);

test('connections beyond the limit get 429, further requests of those below it do not', async () => {
  const annotation = 'limits.multiplane.dev/max-connections';
  await setOnWorkspace({ [annotation]: '3' });
  await eventually(async () => {
    const { status } = await usage();
    expect(status.limits.find(({ name }) => name === 'connections')).toMatchObject({ max: 3, annotation });
  }, patient);
  const session = connectHttp2(cluster.url, { ca: cluster.ca });
  const streams: ClientHttp2Stream[] = [];
  const multiplexed = async (path: string): Promise<unknown> => {
    const stream = session.request({ ':path': path, authorization: `Bearer ${testTokens['user-1']}` });
    streams.push(stream);
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    stream.resume();
    return headers[':status'];
  };
  const watchPath = `${maps()}?watch=true`;
  for (let i = 0; i < 5; i++) expect(await multiplexed(watchPath)).toBe(200);
  // A client cannot have several of its connections counted as one.
  const forged = { 'x-multiplane-connection': 'forged' };
  const open = [await requests.watch(watchPath, 'user-1', forged), await requests.watch(watchPath, 'user-1', forged)];
  expect(open.map(({ status }) => status)).toEqual([200, 200]);
  const refused = await requests.send({ as: 'user-1', path: maps(), headers: forged });
  expect(refused.status).toBe(429);
  expect(String(refused.json['message'])).toContain(
    `workspace "root:used" has reached its connections limit, used: 3, requested: 1, limited: 3; an administrator of workspace "root" can raise it by the annotation ${annotation} of the Workspace`,
  );
  expect(await multiplexed(maps())).toBe(200);
  // The request that reads it has a connection, too.
  const { json } = await requests.must({ path: `${usagePath()}/cluster` });
  expect((json as unknown as Usage).status.used['connections']).toBe(4);
  for (const stream of streams) stream.close();
  for (const watch of open) watch.close();
  session.close();
  await eventually(async () => expect((await usage()).status.used['connections']).toBe(1), patient);
  await setOnWorkspace({ [annotation]: null });
}, 60_000);
