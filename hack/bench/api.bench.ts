import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { eventually, freePorts } from '@multiplane/testing';
import { RawConnection, throughput } from './api/raw-client.ts';
import { node, ServerProcess } from './api/server-process.ts';
import { report } from './report.ts';

/*
 * The API server against a bare server on the same TLS stack, the same cores and the same bytes (issue 3, section 6).
 * Clients are raw sockets: a real client would mostly measure itself.
 */

const clients = 64;
const roundMs = 3_000;
const objects = 10_000;
const workspaces = 300;
const definitions = 500;
const configMaps = '/clusters/root/api/v1/namespaces/default/configmaps';
const padding = 'x'.repeat(620);

const configMap = (name: string, data: JsonObject = { value: padding }): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { app: 'bench' } },
  data,
});

console.log('\nAPI');
const server = await ServerProcess.create();
await server.start();
await eventually(async () => await namespaceReady(), { timeout: 20_000 });
await delay(1_000);
report({
  name: 'resident memory, idle, after start',
  value: server.memory().resident / 2 ** 20,
  unit: 'MiB',
  target: { atMost: 160 },
});

await memoryPerWorkspace();
await memoryPerObject();
await server.stop();
report({
  name: 'process start to the first LIST, 10,000 objects stored',
  value: (await server.start(`${configMaps}?limit=1`)) / 1000,
  unit: 's',
  target: { atMost: 1 },
});
await againstBareServer();
await manyWatchers();
await manyDefinitions();
report({ name: 'longest event-loop hold', value: await server.longestHold(), unit: 'ms', target: { atMost: 50 } });
await server.remove();

async function namespaceReady(): Promise<void> {
  const transport = server.transport();
  await transport
    .json({ method: 'GET', path: '/clusters/root/api/v1/namespaces/default/serviceaccounts/default' })
    .finally(() => transport.close());
}

/** Runs `count` jobs, so many at once. */
async function many(count: number, atOnce: number, job: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await job(next++);
    }),
  );
}

/** Anonymous memory once the server has had a moment to tidy up. */
async function settled(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 10; i++) {
    await delay(300);
    least = Math.min(least, server.memory().anonymous);
  }
  return least;
}

async function memoryPerWorkspace(): Promise<void> {
  const transport = server.transport();
  const path = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
  const create = (name: string): Promise<unknown> =>
    transport.json({
      method: 'POST',
      path,
      body: JSON.stringify({ apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name } }),
    });
  const allReady = async (prefix: string, count: number): Promise<void> => {
    const list = (await transport.json({ method: 'GET', path })) as JsonObject;
    const ready = (list['items'] as Json[]).filter(
      (item) =>
        isJsonObject(item) &&
        JSON.stringify((item['metadata'] as JsonObject)['name']).startsWith(`"${prefix}`) &&
        (item['status'] as JsonObject | undefined)?.['phase'] === 'Ready',
    );
    if (ready.length < count) throw new Error(`${ready.length} of ${count} are ready`);
  };
  await many(50, 16, (n) => create(`warm-${n}`));
  await eventually(() => allReady('warm-', 50), { timeout: 60_000 });
  const before = await settled();
  await many(workspaces, 16, (n) => create(`bench-${n}`));
  await eventually(() => allReady('bench-', workspaces), { timeout: 120_000 });
  const after = await settled();
  transport.close();
  report({
    name: 'anonymous memory per empty workspace',
    value: (after - before) / workspaces / 1024,
    unit: 'KiB',
    target: { atMost: 40 },
  });
}

async function memoryPerObject(): Promise<void> {
  const transport = server.transport();
  const create = (name: string): Promise<unknown> =>
    transport.json({ method: 'POST', path: configMaps, body: JSON.stringify(configMap(name)) });
  await many(1_000, 64, (n) => create(`warm-${n}`));
  const one = JSON.stringify(await transport.json({ method: 'GET', path: `${configMaps}/warm-0` })).length;
  const before = await settled();
  await many(objects - 1_000, 64, (n) => create(`object-${n}`));
  const after = await settled();
  transport.close();
  const beyond = (after - before) / (objects - 1_000) - one;
  report({
    name: 'anonymous memory per stored object beyond its bytes',
    value: beyond,
    unit: 'bytes',
    target: { atMost: 600 },
    note: `objects of ${one} bytes; the event window holds their last changes too`,
  });
}

async function againstBareServer(): Promise<void> {
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${server.token}\r\naccept: application/json\r\nuser-agent: bench\r\n\r\n`;
  const post = (path: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${server.token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

  const connection = await RawConnection.open(server.port);
  const { bytes: objectBytes } = await connection.send(get(`${configMaps}/warm-0`));
  const { bytes: listBytes } = await connection.send(get(configMaps));
  connection.close();
  const [port] = await freePorts(1);
  const file = (name: string, length: number): string => {
    const path = join(server.directory, name);
    writeFileSync(path, Buffer.alloc(length, 'x'));
    return path;
  };
  const bare = spawn(
    node,
    [
      join(import.meta.dirname, 'api', 'bare-server.ts'),
      String(port),
      join(server.directory, 'apiserver.crt'),
      join(server.directory, 'apiserver.key'),
      file('object.json', objectBytes),
      file('list.json', listBytes),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(bare.stdout, 'data');
  const barePort = port as number;
  const ratio = async (
    name: string,
    target: number,
    ours: (ms: number) => Promise<{ perSecond: number }>,
    theirs: (ms: number) => Promise<{ perSecond: number }>,
  ): Promise<void> => {
    await ours(1_000);
    await theirs(1_000);
    const pairs: [number, number][] = [];
    // In turn, so that a machine that slows down does so for both.
    for (let i = 0; i < 3; i++) pairs.push([(await theirs(roundMs)).perSecond, (await ours(roundMs)).perSecond]);
    const median = (values: number[]): number => values.sort((a, b) => a - b)[1] as number;
    const [base, own] = [median(pairs.map(([b]) => b)), median(pairs.map(([, o]) => o))];
    report({
      name,
      value: own / base,
      unit: 'x',
      baseline: 'bare node:http2 server, same bytes',
      target: { atLeast: target },
      note: `${Math.round(own)}/s against ${Math.round(base)}/s`,
    });
  };
  const object = get(`${configMaps}/warm-0`);
  await ratio(
    'GET 1 KiB, TLS keep-alive, 64 clients',
    0.6,
    (ms) => throughput(server.port, clients, ms, () => object, 200),
    (ms) => throughput(barePort, clients, ms, () => get('/'), 200),
  );
  await ratio(
    'LIST 10,000 x 1 KiB',
    0.6,
    (ms) => throughput(server.port, 2, ms, () => get(configMaps), 200),
    (ms) => throughput(barePort, 2, ms, () => get('/list'), 200),
  );
  let created = 0;
  await ratio(
    'CREATE 1 KiB through the API, 64 clients, durable',
    0.35,
    (ms) =>
      throughput(
        server.port,
        clients,
        ms,
        () => post(configMaps, JSON.stringify(configMap(`created-${created++}`))),
        201,
      ),
    (ms) => throughput(barePort, clients, ms, () => post('/', JSON.stringify(configMap(`created-${created++}`))), 201),
  );
  bare.kill();
}

async function manyWatchers(): Promise<void> {
  const watchers = 5_000;
  const path = `${configMaps}?watch=1&fieldSelector=metadata.name%3Dwarm-0`;
  const child = spawn(
    node,
    [join(import.meta.dirname, 'api', 'watchers.ts'), String(server.port), server.token, path, String(watchers), '100'],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually(
    () => {
      if (!output.includes('ready')) throw new Error('not all watchers are there');
    },
    { timeout: 60_000 },
  );
  await delay(2_000);
  output = '';
  const transport = server.transport();
  for (let i = 0; i < 80; i++) {
    const patch = { metadata: { annotations: { 'bench/sent': String(Date.now()) } } };
    await Promise.all([
      transport.json({
        method: 'PATCH',
        path: `${configMaps}/warm-0`,
        contentType: 'application/merge-patch+json',
        body: JSON.stringify(patch),
      }),
      delay(100),
    ]);
  }
  await delay(2_000);
  transport.close();
  child.stdin.end();
  const seconds = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { samples: number; p99: number; ended: number })
    .filter(({ samples }) => samples > 0);
  const samples = seconds.reduce((sum, second) => sum + second.samples, 0);
  const worst = Math.max(...seconds.slice(1, -1).map(({ p99 }) => p99));
  const ended = Math.max(...seconds.map((second) => second.ended));
  report({
    name: '5,000 watchers of one object, 10 updates/s: p99',
    value: worst,
    unit: 'ms',
    target: { atMost: 250 },
    note: `${samples} of ${80 * watchers} deliveries, ${ended} watchers cut off; worst second`,
  });
}

async function manyDefinitions(): Promise<void> {
  const transport = server.transport();
  const base = '/clusters/root:bench-0';
  const properties: JsonObject = {};
  for (let i = 0; i < 130; i++) properties[`field${i}`] = { type: 'string', maxLength: 100, pattern: `^[a-z${i}]*$` };
  const definition = (n: number): JsonObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `bench${n}s.bench.example.com` },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural: `bench${n}s`, singular: `bench${n}`, kind: `Bench${n}`, listKind: `Bench${n}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', description: `number ${n}`, properties } },
            },
          },
        },
      ],
    },
  });
  const before = await settled();
  await many(definitions, 8, (n) =>
    transport.json({
      method: 'POST',
      path: `${base}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
      body: JSON.stringify(definition(n)),
    }),
  );
  await transport.json({
    method: 'POST',
    path: `${base}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
    body: JSON.stringify(definition(definitions)),
  });
  const created = performance.now();
  await eventually(
    async () => {
      const [resources, openapi] = await Promise.all([
        transport.json({ method: 'GET', path: `${base}/apis/bench.example.com/v1` }),
        transport.json({ method: 'GET', path: `${base}/openapi/v3/apis/bench.example.com/v1` }),
      ]);
      if (
        !JSON.stringify(resources).includes(`bench${definitions}s`) ||
        !JSON.stringify(openapi).includes(`Bench${definitions}`)
      )
        throw new Error('not visible yet');
    },
    { timeout: 30_000, interval: 20 },
  );
  report({
    name: 'the last of 500 definitions visible in discovery and OpenAPI',
    value: (performance.now() - created) / 1000,
    unit: 's',
    target: { atMost: 1 },
  });
  await many(definitions, 8, (n) =>
    transport.json({ method: 'GET', path: `${base}/apis/bench.example.com/v1/bench${n}s` }),
  );
  const after = await settled();
  transport.close();
  report({
    name: 'anonymous memory per definition of 10 KiB',
    value: (after - before) / definitions / 1024,
    unit: 'KiB',
    target: { atMost: 200 },
  });
}
