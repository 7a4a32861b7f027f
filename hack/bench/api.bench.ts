import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { eventually, freePorts } from '@multiplane/testing';
import { RawConnection, throughput } from './api/raw-client.ts';
import { node, ServerProcess } from './api/server-process.ts';
import { many } from './load.ts';
import { measureParts } from './parts.ts';
import { report } from './report.ts';

/*
 * The API server against a bare server on the same TLS stack, the same cores and the same bytes (issue 3, section 6).
 * Clients are raw sockets: a real client would mostly measure itself.
 */

const clients = 64;
/** Of each server in turn: a machine that changes its speed every few seconds does so for both. */
const roundMs = 700;
const rounds = 9;
/** After this the servers are compiled; ours has far more to compile. */
const warmUpMs = 5_000;
const bareWarmUpMs = 3_000;
/** A create runs through most of all: its rate still grows by a third between the 8,000th and the 16,000th. */
const createWarmUpMs = 10_000;
const objects = 10_000;
/** Objects whose memory is measured. */
const stored = 20_000;
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
const shared = server.transport();
await eventually(async () => await namespaceReady(), { timeout: 20_000 });
await delay(1_000);
report({
  name: 'resident memory, idle, after start',
  value: server.memory().resident / 2 ** 20,
  unit: 'MiB',
  target: { atMost: 160 },
});

/** The server is asked for its garbage before each look; what it holds without that is in the notes. */
const parts: Record<string, () => Promise<void>> = {
  start: startWithData,
  requests: againstBareServer,
  fanout: eventsOfWrites,
  watchers: manyWatchers,
  definitions: manyDefinitions,
  // Last: the memory that loading itself takes, whatever it loads, is then there in both starts that are compared.
  objects: memoryOfObjects,
};
await measureParts(parts);
const { own, byClock, worked } = await server.longestHold();
report({
  name: 'longest event-loop hold',
  value: own,
  unit: 'ms',
  target: { atMost: 50 },
  note: `without waiting for a processor; ${Math.round(byClock)} ms by the clock, ${Math.round(worked)} ms of processor time`,
});
await server.remove();

async function namespaceReady(): Promise<void> {
  const transport = server.transport();
  await transport
    .json({ method: 'GET', path: '/clusters/root/api/v1/namespaces/default/serviceaccounts/default' })
    .finally(() => transport.close());
}

/** Memory that the server retains, started anew: what it holds for what is stored, without what lately happened. */
async function atRest(): Promise<{ anonymous: number; held: number }> {
  await server.stop();
  await server.start();
  await delay(3_000);
  let least = await server.retained();
  for (let i = 0; i < 2; i++) {
    const look = await server.retained();
    if (look.anonymous < least.anonymous) least = look;
  }
  return least;
}

/**
 * What an object costs. Histories, event windows and parsed objects are bounded by constants and fill with every write,
 * whatever it is; a server that has just started has none of them, so the difference between two starts is what stored
 * things cost. The notes tell what memory grew by while they were being written.
 */
async function memoryOfObjects(): Promise<void> {
  await fill();
  const one = (await server.bytes(`${configMaps}/warm-0`)).length;
  const without = await atRest();
  // Connections and compiled code are there before the objects.
  await many(1_000, 64, (n) => createConfigMap(`before-${n}`));
  const quiet = await server.retained();
  await many(stored - 1_000, 64, (n) => createConfigMap(`object-${n}`));
  const loaded = await server.retained();
  const withObjects = await atRest();
  report({
    name: 'anonymous memory per stored object beyond its bytes',
    value: (withObjects.anonymous - without.anonymous) / stored - one,
    unit: 'bytes',
    target: { atMost: 600 },
    note: `objects of ${one} bytes, at rest, ${Math.round((withObjects.held - without.held) / stored - one)} bytes beyond them in heap and buffers; while they were made: ${Math.round((loaded.anonymous - quiet.anonymous) / (stored - 1_000) - one)} bytes with histories and windows`,
  });
}

async function createConfigMap(name: string): Promise<void> {
  await shared.json({ method: 'POST', path: configMaps, body: JSON.stringify(configMap(name)) });
}

async function createWorkspaces(prefix: string, count: number): Promise<void> {
  const path = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
  await many(count, 16, (n) =>
    shared.json({
      method: 'POST',
      path,
      body: JSON.stringify({
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name: `${prefix}-${n}` },
      }),
    }),
  );
  await eventually(
    async () => {
      const list = (await shared.json({ method: 'GET', path })) as JsonObject;
      const ready = (list['items'] as Json[]).filter(
        (item) =>
          isJsonObject(item) &&
          ((item['metadata'] as JsonObject)['name'] as string).startsWith(`${prefix}-`) &&
          (item['status'] as JsonObject | undefined)?.['phase'] === 'Ready',
      );
      if (ready.length < count) throw new Error(`${ready.length} of ${count} are ready`);
    },
    { timeout: 120_000, interval: 200 },
  );
}

async function startWithData(): Promise<void> {
  const present = await fill();
  const seconds: number[] = [];
  for (let i = 0; i < 3; i++) {
    await server.stop();
    seconds.push((await server.start(`${configMaps}?limit=1`)) / 1000);
  }
  report({
    name: 'process start to the first LIST, 10,000 objects stored',
    value: median(seconds),
    unit: 's',
    target: { atMost: 1 },
    note: `${present} objects; ${seconds.map((value) => value.toFixed(2)).join(', ')}`,
  });
}

/** Brings the number of objects to 10,000, if it is not there yet; they all have one size. */
async function fill(): Promise<number> {
  const list = (await server.bytes(`${configMaps}?limit=1`)).toString();
  const there = list.includes('"items":[{') ? 1 + Number(/"remainingItemCount":(\d+)/.exec(list)?.[1] ?? 0) : 0;
  await many(objects - there, 64, (n) => createConfigMap(n === 0 && there < 1_000 ? 'warm-0' : `fill-${n}`));
  return objects;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

async function againstBareServer(): Promise<void> {
  await fill();
  // Read once: it stands in a file, and a client that parses YAML for each request measures itself.
  const { token } = server;
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\nuser-agent: bench\r\n\r\n`;
  const post = (path: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

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
    warm = warmUpMs,
  ): Promise<void> => {
    await ours(warm);
    await theirs(bareWarmUpMs);
    const pairs: [number, number][] = [];
    for (let i = 0; i < rounds; i++) pairs.push([(await theirs(roundMs)).perSecond, (await ours(roundMs)).perSecond]);
    const [base, own] = [median(pairs.map(([b]) => b)), median(pairs.map(([, o]) => o))];
    report({
      name,
      value: median(pairs.map(([b, o]) => o / b)),
      unit: 'x',
      baseline: 'bare node:http2 server, same bytes',
      target: { atLeast: target },
      note: `${Math.round(own)}/s against ${Math.round(base)}/s`,
    });
  };
  const [bareObject, bareList, list] = [get('/'), get('/list'), get(configMaps)];
  const object = get(`${configMaps}/warm-0`);
  await ratio(
    'GET 1 KiB, TLS keep-alive, 64 clients',
    0.6,
    (ms) => throughput(server.port, clients, ms, () => object, 200),
    (ms) => throughput(barePort, clients, ms, () => bareObject, 200),
  );
  await ratio(
    'LIST 10,000 x 1 KiB',
    0.6,
    (ms) => throughput(server.port, 2, ms, () => list, 200),
    (ms) => throughput(barePort, 2, ms, () => bareList, 200),
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
    createWarmUpMs,
  );
  bare.kill();
}

/** Events of 16 writers at full speed to few watchers, against the acknowledgements that the writers get in the same run. */
async function eventsOfWrites(): Promise<void> {
  const fanout = (watchers: number, ms: number): Promise<Fanout> =>
    new Promise((resolve) => {
      const script = join(import.meta.dirname, 'api', 'fanout.ts');
      const args = [server.port, server.token, configMaps, watchers, 16, ms].map(String);
      const child = spawn(node, ['--conditions=multiplane-source', script, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.on('close', () => resolve(JSON.parse(output) as Fanout));
    });
  await fanout(10, warmUpMs);
  for (const watchers of [10, 100]) {
    const { afterRequest, afterAnswer, answers } = await fanout(watchers, 4_000);
    report({
      name: `${watchers} watchers: p99 of event after its write was acknowledged`,
      value: afterAnswer.p99,
      unit: 'ms',
      note: `p50 ${afterAnswer.p50.toFixed(2)} ms, ${afterAnswer.count} events of ${answers.count} writes`,
    });
    report({
      name: `${watchers} watchers: p99 from write to event`,
      value: afterRequest.p99 / answers.p99,
      unit: 'x',
      baseline: 'p99 of the acknowledgements of the same writes',
      target: { atMost: watchers === 10 ? 1.3 : 3 },
      note: `${afterRequest.p99.toFixed(1)} against ${answers.p99.toFixed(1)} ms`,
    });
  }
}

interface Fanout {
  readonly afterRequest: Shares;
  readonly afterAnswer: Shares;
  readonly answers: Shares;
}
interface Shares {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

async function manyWatchers(): Promise<void> {
  await fill();
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
  const transport = server.transport();
  async function updates(number: number): Promise<void> {
    for (let i = 0; i < number; i++) {
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
  }
  // Watchers that have just begun run code that is not compiled yet, here and there.
  await updates(20);
  output = '';
  const measured = 80;
  await updates(measured);
  transport.close();
  child.stdin.end();
  const seconds = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { took: [ms: number, deliveries: number][]; ended: number });
  const took = seconds.flatMap((second) => second.took);
  const worst = Math.max(...seconds.map((second) => atShare(second.took, 0.99)));
  const ended = Math.max(...seconds.map((second) => second.ended));
  report({
    name: '5,000 watchers of one object, 10 updates/s: p99',
    value: atShare(took, 0.99),
    unit: 'ms',
    target: { atMost: 250 },
    note: `${count(took)} of ${measured * watchers} deliveries, ${ended} watchers cut off; p50 ${atShare(took, 0.5)} ms, p99 of the worst second ${worst} ms`,
  });
}

/** How many deliveries there were. */
function count(took: readonly (readonly [ms: number, deliveries: number])[]): number {
  return took.reduce((sum, [, deliveries]) => sum + deliveries, 0);
}

/** The milliseconds within which a share of all deliveries was there. */
function atShare(took: readonly (readonly [ms: number, deliveries: number])[], share: number): number {
  let left = count(took) * share;
  for (const [ms, deliveries] of took.toSorted(([a], [b]) => a - b)) if ((left -= deliveries) <= 0) return ms;
  return 0;
}

async function manyDefinitions(): Promise<void> {
  const base = '/clusters/root:definitions-0';
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
  const collection = `${base}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
  const create = (n: number): Promise<unknown> =>
    shared.json({ method: 'POST', path: collection, body: JSON.stringify(definition(n)) });
  const documents = [`${base}/apis/bench.example.com/v1`, `${base}/openapi/v3/apis/bench.example.com/v1`];
  await createWorkspaces('definitions', 1);
  const without = await atRest();
  const busyBefore = await server.retained();
  await many(definitions - 1, 8, create);
  await create(definitions - 1);
  const created = performance.now();
  // The documents were not requested before: all 500 are built.
  await eventually(
    async () => {
      const [resources, openapi] = await Promise.all(documents.map((path) => server.bytes(path)));
      if (
        resources?.includes(`"bench${definitions - 1}s"`) !== true ||
        openapi?.includes(`Bench${definitions - 1}"`) !== true
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
  const busyAfter = await server.retained();
  await atRest();
  // All that a definition needs once it is used: its compiled schema, its part of the documents, its place in discovery.
  for (const path of documents) await server.bytes(path);
  await many(definitions, 8, (n) =>
    shared.json({ method: 'GET', path: `${base}/apis/bench.example.com/v1/bench${n}s` }),
  );
  const used = await server.retained();
  report({
    name: 'anonymous memory per definition of 10 KiB',
    value: (used.anonymous - without.anonymous) / definitions / 1024,
    unit: 'KiB',
    target: { atMost: 200 },
    note: `in use after a start; while they were made: ${Math.round((busyAfter.anonymous - busyBefore.anonymous) / definitions / 1024)} KiB with histories and windows`,
  });
}
