import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { HostileServer } from '../harness/hostile-server.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { RawTls } from '../harness/raw-tls.ts';
import type { Response } from '../harness/requests.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * Attacks of a tenant with every right in its own workspace on the seats of priority and fairness. Another tenant must be
 * served meanwhile. In front of the first limits, 210 stalled bodies or 600 unread lists got all others 429.
 */

const maps = '/api/v1/namespaces/default/configmaps';
/** About 2 MB, more than sockets buffer. */
const listed = 1_000;
const padding = 'x'.repeat(2_000);

let server: HostileServer;
const open: Disposable[] = [];

beforeAll(async () => {
  server = await HostileServer.start();
  const admin = server.cluster.transport('shard-base');
  for (const [name, user] of [
    ['flooded', 'user-1'],
    ['quiet', 'user-2'],
  ] as const) {
    await createWorkspace(admin, 'root', name);
    await server.requests.must({
      method: 'POST',
      path: `/clusters/root:${name}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      body: {
        metadata: { name: 'tenant' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      },
    });
    await eventually(() => server.requests.must({ path: `/clusters/root:${name}${maps}`, as: user }));
  }
  admin.close();
  for (let i = 0; i < listed; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        server.requests.must({
          method: 'POST',
          path: `/clusters/root:flooded${maps}`,
          body: configMap(`object-${i + k}`, { padding }),
        }),
      ),
    );
}, 240_000);
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(async () => {
  for (const connection of open.splice(0)) connection[Symbol.dispose]();
  await server.mustBeWell();
});

const head = (method: string, path: string, ...lines: string[]): string =>
  [
    `${method} /clusters/root:flooded${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${testTokens['user-1']}`,
    ...lines,
    '',
    '',
  ].join('\r\n');

let written = 0;
/** A read and a write of the other tenant. */
async function neighbour(): Promise<number[]> {
  const path = `/clusters/root:quiet${maps}`;
  const list = await server.requests.send({ path, as: 'user-2' });
  const created: Response = await server.requests.send({
    method: 'POST',
    path,
    as: 'user-2',
    body: { metadata: { name: `written-${written++}` } },
  });
  return [list.status, created.status];
}

/** A connection that sends and never reads. */
function deaf(text: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: server.cluster.port,
      ca: server.cluster.ca,
      servername: 'localhost',
      ALPNProtocols: ['http/1.1'],
    });
    socket.pause();
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      open.push({ [Symbol.dispose]: () => socket.destroy() });
      socket.write(text, 'latin1', () => resolve(socket));
    });
  });
}

describe('a tenant is served while another one', () => {
  test('stalls the bodies of 210 requests', async () => {
    for (let i = 0; i < 210; i++) {
      const connection = await RawTls.open(server.cluster);
      open.push(connection);
      connection.send(`${head('POST', maps, 'Content-Type: application/json', 'Content-Length: 1000')}{`);
    }
    for (let i = 0; i < 20; i++) expect(await neighbour()).toEqual([200, 201]);
  }, 120_000);

  test('does not read the responses to 600 pipelined lists', async () => {
    for (let i = 0; i < 60; i++) await deaf(head('GET', maps).repeat(10));
    for (let i = 0; i < 20; i++) expect(await neighbour()).toEqual([200, 201]);
  }, 120_000);

  test('does not read the initial events of 300 watches', async () => {
    for (let i = 0; i < 300; i++) await deaf(head('GET', `${maps}?watch=1&resourceVersion=0`));
    for (let i = 0; i < 20; i++) expect(await neighbour()).toEqual([200, 201]);
  }, 120_000);
});

test('a connection with hundreds of requests behind an unread response is not read, and served once its client reads', async () => {
  const socket = await deaf(head('GET', maps).repeat(10));
  const small = `${maps}/object-0`;
  socket.write(head('GET', small).repeat(300), 'latin1');
  // The server has read what was sent before.
  for (let i = 0; i < 3; i++) await neighbour();
  let [responses, rest] = [0, ''];
  socket.setEncoding('latin1').on('data', (text: string) => {
    const parts = (rest + text).split('HTTP/1.1 200 OK\r\n');
    responses += parts.length - 1;
    rest = (parts.at(-1) as string).slice(-16);
  });
  socket.resume();
  await eventually(() => expect(responses).toBe(310), { timeout: 30_000 });
}, 60_000);

test('a body that stops arriving is refused', async () => {
  using connection = await RawTls.open(server.cluster);
  connection.send(`${head('POST', maps, 'Content-Type: application/json', 'Content-Length: 1000')}{`);
  expect(await connection.until(() => connection.statuses.length > 0, 30_000)).toBe('held');
  expect(connection.statuses).toEqual([408]);
}, 60_000);

test('responses name the FlowSchema and the PriorityLevelConfiguration', async () => {
  const { headers } = await server.requests.must({ path: `/clusters/root:quiet${maps}`, as: 'user-2' });
  const uidOf = async (resource: string): Promise<unknown> => {
    const path = `/clusters/system:admin/apis/flowcontrol.apiserver.k8s.io/v1/${resource}/global-default`;
    return ((await server.requests.must({ path })).json['metadata'] as { uid: string }).uid;
  };
  expect([headers['x-kubernetes-pf-flowschema-uid'], headers['x-kubernetes-pf-prioritylevel-uid']]).toEqual([
    await uidOf('flowschemas'),
    await uidOf('prioritylevelconfigurations'),
  ]);
});

test('a FlowSchema of the shard takes effect; one of a tenant does not', async () => {
  const schema = (name: string): unknown => ({
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: { name },
    spec: {
      matchingPrecedence: 50,
      priorityLevelConfiguration: { name: 'workload-low' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'user-2' } }],
          resourceRules: [{ verbs: ['list'], apiGroups: ['*'], resources: ['secrets'], namespaces: ['*'] }],
        },
      ],
    },
  });
  const collection = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
  const path = '/clusters/root:quiet/api/v1/namespaces/default/secrets';
  const used = async (): Promise<unknown> =>
    (await server.requests.must({ path, as: 'user-2' })).headers['x-kubernetes-pf-flowschema-uid'];
  const before = await used();
  await server.requests.must({ method: 'POST', path: `/clusters/root:quiet${collection}`, body: schema('own') });
  const created = await server.requests.must({
    method: 'POST',
    path: `/clusters/system:admin${collection}`,
    body: schema('secrets'),
  });
  const { uid } = created.json['metadata'] as { uid: string };
  await eventually(async () => expect(await used()).toBe(uid));
  await server.requests.must({ method: 'DELETE', path: `/clusters/system:admin${collection}/secrets` });
  await eventually(async () => expect(await used()).toBe(before));
});
