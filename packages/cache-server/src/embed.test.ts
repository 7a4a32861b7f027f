import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { RestTransport } from '@multiplane/client';
import { eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { embedCacheServer } from './embed.ts';

interface TestResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const base = '/services/cache';
const exportsOf = (shard: string, cluster: string): string =>
  `${base}/shards/${shard}/clusters/${cluster}/apis/apis.kcp.io/v1alpha2/apiexports`;

let folder: TempDir;
let shard: InProcessShard;
const users = new Map<string, RestTransport>();

beforeAll(async () => {
  folder = await TempDir.create('cache-server');
  const tokens = folder.join('tokens.csv');
  await writeFile(tokens, 'masters,admin,1,"system:masters"\ntenant,user-1,2,"team-1"\n');
  shard = await InProcessShard.start(['--storage-backend=memory', `--token-auth-file=${tokens}`], undefined, [
    embedCacheServer({ version: 'test', storage: 'memory' }),
  ]);
  for (const [name, token] of [
    ['masters', 'masters'],
    ['tenant', 'tenant'],
    ['anonymous', undefined],
  ] as const)
    users.set(name, new RestTransport({ config: { server: shard.transport.origin, insecure: true, token } }));
}, 120_000);
afterAll(async () => {
  for (const transport of users.values()) transport.close();
  await shard[Symbol.asyncDispose]();
  await folder.remove();
});

async function send(as: string, method: string, path: string, body?: object): Promise<TestResponse> {
  const transport = users.get(as) as RestTransport;
  const response = await transport.open({
    method,
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body), contentType: 'application/json' }),
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), headers: response.headers };
}

const parsed = ({ text }: TestResponse): JsonObject => JSON.parse(text) as JsonObject;
const apiExport = (name: string, metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name, ...metadata },
  spec,
});
const nameOf = (object: Json): string => metadataOf(object)['name'] as string;
const metadataOf = (object: Json): JsonObject => (object as JsonObject)['metadata'] as JsonObject;

describe('paths', () => {
  test.each([
    ['/', 'a shard name is required'],
    ['/api', 'a shard name is required'],
    ['/clusters/root/apis', 'a shard name is required'],
    ['/shards', 'a shard name is required'],
    ['/shards/root', 'unable to parse shard: no `/` found in path root'],
    ['/shards/Bad_Name/clusters/root/apis', 'invalid shard: "Bad_Name" does not match the regex'],
    ['/shards/a%20b/clusters/root/apis', 'invalid shard: "a b" does not match the regex'],
    ['/shards/root/clusters/Bad_Name/apis', 'invalid cluster: "Bad_Name" does not match the regex'],
    ['/shards/root/clusters/root:x/apis', 'invalid cluster: "root:x" is not a logical cluster name'],
  ])('%s is rejected: %s', async (path, message) => {
    const answer = await send('masters', 'GET', base + path);
    expect(answer.status).toBe(400);
    expect(parsed(answer)).toMatchObject({ kind: 'Status', reason: 'BadRequest', message });
  });

  test('redirects to the path with a trailing slash', async () => {
    const answer = await send('masters', 'GET', base);
    expect([answer.status, answer.headers['location'], answer.text]).toEqual([
      307,
      '/services/cache/',
      '<a href="/services/cache/">Temporary Redirect</a>.\n\n',
    ]);
  });

  test.each([
    ['/shards/root/clusters/root/apis', '404 page not found\n', 404],
    ['/shards/root/apis', '404 page not found\n', 404],
    ['/shards/root/clusters/root/api/v1/configmaps', '404 page not found\n', 404],
    ['/shards/root/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces', '404 page not found\n', 404],
    ['/shards/root/clusters/root/apis/apis.kcp.io/v1alpha2/apiexports/x/status', '', 404],
    ['/shards/root/clusters/root/metrics', 'shard-level endpoint not available at shard or workspace scope\n', 501],
  ])('%s', async (path, text, status) => {
    const answer = await send('masters', 'GET', base + path);
    expect(answer.status).toBe(status);
    if (text !== '') expect(answer.text).toBe(text);
  });

  test('serves discovery of a group version', async () => {
    const answer = await send('masters', 'GET', `${base}/shards/root/clusters/root/apis/apis.kcp.io/v1alpha2`);
    expect(parsed(answer)).toMatchObject({
      kind: 'APIResourceList',
      resources: [{ name: 'apiexports', namespaced: false, kind: 'APIExport' }],
    });
  });

  test('serves the version on any path, and no health endpoints', async () => {
    expect((await send('masters', 'GET', `${base}/shards/root/clusters/root/version`)).status).toBe(200);
    const health = await send('anonymous', 'GET', `${base}/livez`);
    expect(health.status).toBe(404);
    expect(parsed(health)['paths']).toContain('/metrics');
  });
});

describe('only system:masters is authorized (CVE-2026-39429)', () => {
  const paths = [
    exportsOf('root', 'root'),
    exportsOf('*', '*'),
    `${exportsOf('root', 'root')}/x`,
    `${exportsOf('root', 'root')}?watch=true`,
    `${base}/shards/root/clusters/root/apis/rbac.authorization.k8s.io/v1/clusterroles`,
    `${base}/shards/root/clusters/root/apis`,
    `${base}/shards/root/clusters/root/version`,
    `${base}/shards/root/clusters/root/metrics`,
    `${base}/metrics`,
    `${base}//shards/root/clusters/root/apis/apis.kcp.io/v1alpha2/apiexports`.replace('//shards', '/shards'),
  ];
  const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

  test.each(['anonymous', 'tenant'])('%s is denied every verb on every path', async (user) => {
    for (const path of paths) {
      for (const method of verbs) {
        const body = method === 'POST' || method === 'PUT' || method === 'PATCH' ? apiExport('x') : undefined;
        expect([method, path, (await send(user, method, path, body)).status]).toEqual([method, path, 403]);
      }
    }
  });

  test('an unauthorized role creation stores nothing', async () => {
    const roles = `${base}/shards/root/clusters/root/apis/rbac.authorization.k8s.io/v1/clusterroles`;
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'injected' } };
    expect((await send('anonymous', 'POST', roles, role)).status).toBe(403);
    expect((await send('masters', 'GET', `${roles}/injected`)).status).toBe(404);
  });

  test('impersonation does not escalate, and reduces the rights of system:masters', async () => {
    const { origin } = shard.transport;
    const path = exportsOf('root', 'root');
    const status = async (token: string, headers: Record<string, string>): Promise<number | undefined> => {
      const outgoing = request(origin + path, {
        rejectUnauthorized: false,
        headers: { authorization: `Bearer ${token}`, ...headers },
      }).end();
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await status('masters', {})).toBe(200);
    expect(await status('masters', { 'Impersonate-User': 'user-1' })).toBe(403);
    expect(await status('tenant', { 'Impersonate-User': 'x', 'Impersonate-Group': 'system:masters' })).toBe(403);
    expect(await status('tenant', { 'X-Remote-User': 'x', 'X-Remote-Group': 'system:masters' })).toBe(403);
  });

  test('the 403 names the user and the path', async () => {
    const answer = await send('tenant', 'GET', `${base}/shards/root/clusters/root/apis`);
    expect(parsed(answer)['message']).toBe('forbidden: User "user-1" cannot get path "/apis"');
  });
});

describe('cached objects', () => {
  test('published objects keep their identity, others get a new one', async () => {
    const uid = '11111111-2222-3333-4444-555555555555';
    const creationTimestamp = '2020-01-01T00:00:00Z';
    const made = await send(
      'masters',
      'POST',
      exportsOf('s1', 'one'),
      apiExport('kept', { uid, generation: 7, creationTimestamp, annotations: { 'kcp.io/shard': 'x' } }),
    );
    expect(made.status).toBe(201);
    expect(metadataOf(parsed(made))).toMatchObject({
      uid,
      generation: 7,
      creationTimestamp,
      annotations: { 'kcp.io/shard': 's1', 'kcp.io/cluster': 'one' },
    });
    const other = metadataOf(
      parsed(await send('masters', 'POST', exportsOf('s1', 'one'), apiExport('new', { uid, generation: 7 }))),
    );
    expect(other['uid']).not.toBe(uid);
    expect(other).toMatchObject({ generation: 1, annotations: { 'kcp.io/shard': 's1', 'kcp.io/cluster': 'one' } });
  });

  test('writes spec and status together without changing the generation', async () => {
    const path = `${exportsOf('s1', 'two')}/a`;
    const made = parsed(await send('masters', 'POST', exportsOf('s1', 'two'), apiExport('a')));
    const sent = { ...made, spec: { resources: ['x'] }, status: { identityHash: 'f00d' } };
    const written = await send('masters', 'PUT', path, sent);
    expect(written.status).toBe(200);
    expect(parsed(written)).toMatchObject({ ...sent, metadata: { generation: 1, uid: metadataOf(made)['uid'] } });
    expect(parsed(await send('masters', 'GET', path))['status']).toEqual({ identityHash: 'f00d' });
  });

  test('deletes immediately, regardless of finalizers', async () => {
    const path = `${exportsOf('s1', 'three')}/a`;
    await send('masters', 'POST', exportsOf('s1', 'three'), apiExport('a', { finalizers: ['example.com/hold'] }));
    expect((await send('masters', 'DELETE', path)).status).toBe(200);
    const gone = await send('masters', 'GET', path);
    expect([gone.status, parsed(gone)['message']]).toEqual([404, 'apiexports.apis.kcp.io "a" not found']);
  });

  test('lists by shard and cluster, each also as a wildcard', async () => {
    for (const [shardName, cluster] of [
      ['a', 'x'],
      ['a', 'y'],
      ['b', 'x'],
    ] as const)
      await send('masters', 'POST', exportsOf(shardName, cluster), apiExport(`of-${shardName}-${cluster}`));
    const names = async (shardName: string, cluster: string, query = ''): Promise<string[]> => {
      const answer = parsed(await send('masters', 'GET', `${exportsOf(shardName, cluster)}${query}`));
      expect(answer['kind']).toBe('APIExportList');
      return (answer['items'] as Json[]).map(nameOf).filter((name) => name.startsWith('of-'));
    };
    expect(await names('a', 'x')).toEqual(['of-a-x']);
    expect(await names('a', '*')).toEqual(['of-a-x', 'of-a-y']);
    expect(await names('*', '*')).toEqual(['of-a-x', 'of-a-y', 'of-b-x']);
    // kcp v0.32 lists those of all clusters here.
    expect(await names('*', 'x')).toEqual(['of-a-x', 'of-b-x']);
    expect(await names('*', 'y')).toEqual(['of-a-y']);
    expect(await names('*', 'x', '?fieldSelector=metadata.name%3Dof-b-x')).toEqual(['of-b-x']);
    expect(await names('b', 'y')).toEqual([]);
    // kubectl get --raw percent-encodes.
    expect(await names('%2A', '%2A')).toEqual(await names('*', '*'));
    expect((await send('masters', 'GET', `${exportsOf('other', 'x')}/of-a-x`)).status).toBe(404);
  });

  test('pages a list over all shards over one snapshot', async () => {
    for (let i = 0; i < 7; i++) await send('masters', 'POST', exportsOf(`p${i % 3}`, 'paged'), apiExport(`p${i}`));
    const seen: string[] = [];
    let token = '';
    let revision: string | undefined;
    do {
      const page = parsed(
        await send('masters', 'GET', `${exportsOf('*', 'paged')}?limit=3${token === '' ? '' : `&continue=${token}`}`),
      );
      const { metadata, items } = page as { metadata: Record<string, string>; items: Json[] };
      revision ??= metadata['resourceVersion'];
      expect(metadata['resourceVersion']).toBe(revision);
      seen.push(...items.map(nameOf));
      token = encodeURIComponent(metadata['continue'] ?? '');
      await send('masters', 'POST', exportsOf('p0', 'paged'), apiExport(`a-later-${seen.length}`));
    } while (token !== '');
    expect(seen).toEqual(['p0', 'p3', 'p6', 'p1', 'p4', 'p2', 'p5']);
  });

  test.each([
    [
      'POST',
      exportsOf('*', 'root'),
      'create is not supported on resources of kind "apiexports.apis.kcp.io" in the `*` shard',
    ],
    [
      'POST',
      exportsOf('root', '*'),
      'create is not supported on resources of kind "apiexports.apis.kcp.io" in the `*` logical cluster',
    ],
    [
      'PUT',
      `${exportsOf('*', 'root')}/x`,
      'update is not supported on resources of kind "apiexports.apis.kcp.io" in the `*` shard',
    ],
    [
      'DELETE',
      exportsOf('*', '*'),
      'deletecollection is not supported on resources of kind "apiexports.apis.kcp.io" in the `*` logical cluster',
    ],
  ])('%s %s is rejected', async (method, path, message) => {
    const answer = await send('masters', method, path, method === 'DELETE' ? undefined : apiExport('x'));
    expect([answer.status, parsed(answer)['message']]).toEqual([405, message]);
  });

  test('an object is not found by a wildcard path', async () => {
    const answer = await send('masters', 'GET', `${exportsOf('*', '*')}/x`);
    expect([answer.status, parsed(answer)['message']]).toEqual([404, 'apiexports.apis.kcp.io "x" not found']);
  });

  test('a watch over all shards sends the initial objects, then changes', async () => {
    await send('masters', 'POST', exportsOf('w1', 'watched'), apiExport('one'));
    const abort = new AbortController();
    const stream = await (users.get('masters') as RestTransport).open({
      method: 'GET',
      path: `${exportsOf('*', 'watched')}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      longRunning: true,
      signal: abort.signal,
    });
    expect(stream.statusCode).toBe(200);
    let text = '';
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
    stream.on('error', () => undefined);
    const events = (): string[] =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { type: string; object: JsonObject })
        .map(({ type, object }) => {
          const { name, annotations } = metadataOf(object) as { name?: string; annotations: Record<string, string> };
          return type === 'BOOKMARK' ? type : `${type} ${name} ${annotations['kcp.io/shard']}`;
        });
    await eventually(() => expect(events()).toEqual(['ADDED one w1', 'BOOKMARK']));
    await send('masters', 'POST', exportsOf('w2', 'other'), apiExport('hidden'));
    await send('masters', 'POST', exportsOf('w2', 'watched'), apiExport('two'));
    await send('masters', 'DELETE', `${exportsOf('w1', 'watched')}/one`);
    await eventually(() => expect(events()).toEqual(['ADDED one w1', 'BOOKMARK', 'ADDED two w2', 'DELETED one w1']));
    abort.abort();
  });
});
