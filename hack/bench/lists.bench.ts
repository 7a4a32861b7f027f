import { Agent, get as httpsGet } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ProcessInfo } from '@multiplane/testing';
import { ReferenceServer } from './lists/reference-server.ts';
import { ServerProcess } from './api/server-process.ts';
import { many } from './load.ts';
import { report } from './report.ts';

/*
 * What lists of 10,000 x 1 KiB cost in their encodings, over the plain one of the same server, asked in turns. With
 * `--kubernetes=FOLDER` (kube-apiserver and etcd in it) compressed lists are also asked of a kube-apiserver that runs beside.
 */

const { values } = parseArgs({ options: { kubernetes: { type: 'string' }, rounds: { type: 'string', default: '9' } } });
const rounds = Number(values.rounds);
const objects = 10_000;
const collection = '/api/v1/namespaces/default/configmaps';
const protobuf = { accept: 'application/vnd.kubernetes.protobuf' };
const plain = { accept: 'application/json' };
const gzip = { accept: 'application/json', 'accept-encoding': 'gzip' };
type HeaderSet = Readonly<Record<string, string>>;

interface Target {
  readonly port: number;
  readonly token: string;
  readonly prefix: string;
}

/** 1 KiB each, half of which compresses badly, as names, hashes and certificates do. */
function objectText(name: string): string {
  const mixed = Array.from({ length: 31 }, () => Math.random().toString(36).slice(2, 12)).join('');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', labels: { app: 'bench' } },
    data: { value: `${'x'.repeat(310)}${mixed}` },
  });
}

function list(agent: Agent, { port, token, prefix }: Target, headers: HeaderSet, query = ''): Promise<number> {
  const options = {
    host: '127.0.0.1',
    port,
    path: `${prefix}${collection}${query}`,
    agent,
    headers: { authorization: `Bearer ${token}`, ...headers },
  };
  return new Promise((resolve, reject) => {
    httpsGet(options, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.on('end', () => (response.statusCode === 200 ? resolve(bytes) : reject(new Error('not 200'))));
    }).on('error', reject);
  });
}

const newAgent = (): Agent => new Agent({ keepAlive: true, rejectUnauthorized: false });
const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number;
/** Milliseconds that the main thread has worked. */
const mainThread = ({ pid }: ServerProcess): number => new ProcessInfo().mainThreadMs(pid);

interface Cost {
  /** Milliseconds by the clock. */
  readonly took: number;
  /** Milliseconds of the server's main thread. */
  readonly work: number;
}

async function cost(server: ServerProcess, agent: Agent, headers: HeaderSet): Promise<Cost> {
  const target = { port: server.port, token: server.token, prefix: '/clusters/root' };
  const before = mainThread(server);
  const began = performance.now();
  await list(agent, target, headers);
  const took = performance.now() - began;
  await delay(30);
  return { took, work: mainThread(server) - before };
}

async function fill(server: ServerProcess): Promise<void> {
  const transport = server.transport();
  await many(objects, 32, (n) =>
    transport.json({ method: 'POST', path: `/clusters/root${collection}`, body: objectText(`object-${n}`) }),
  );
  transport.close();
}

/** The cost of the first list of a server that has just started; a short one has opened the connection. */
async function first(server: ServerProcess, headers: HeaderSet): Promise<Cost> {
  await server.stop();
  await server.start();
  await delay(3_000);
  const agent = newAgent();
  await list(agent, { port: server.port, token: server.token, prefix: '/clusters/root' }, plain, '?limit=1');
  const taken = await cost(server, agent, headers);
  agent.destroy();
  return taken;
}

const rounded = (all: readonly number[]): number => Math.round(median(all));
const compared = (pairs: readonly (readonly [own: Cost, base: Cost])[]): string =>
  `${rounded(pairs.map(([own]) => own.work))} ms against ${rounded(pairs.map(([, base]) => base.work))} ms; by the clock ${rounded(pairs.map(([own]) => own.took))} ms against ${rounded(pairs.map(([, base]) => base.took))} ms`;

console.log('\nLists of 10,000 x 1 KiB');
const server = await ServerProcess.create();
await server.start();
try {
  await fill(server);
  await coldLists();
  await warmLists();
  await changedLists();
  if (values.kubernetes !== undefined) await againstKubernetes(values.kubernetes);
} finally {
  await server.remove();
}

async function coldLists(): Promise<void> {
  const all: { plain: Cost; gzip: Cost; protobuf: Cost }[] = [];
  for (let round = 0; round < 3; round++)
    all.push({
      plain: await first(server, plain),
      gzip: await first(server, gzip),
      protobuf: await first(server, protobuf),
    });
  for (const [kind, atMost] of [
    ['gzip', 1],
    ['protobuf', 2],
  ] as const)
    report({
      name: `first LIST in ${kind} after a start, main thread`,
      value: median(all.map((one) => one[kind].work / one.plain.work)),
      unit: 'x',
      baseline: 'first plain LIST after a start',
      target: { atMost },
      note: compared(all.map((one) => [one[kind], one.plain])),
    });
}

/** Objects change before each list, so that blocks of it are encoded and compressed again. */
async function changedLists(): Promise<void> {
  const agent = newAgent();
  const transport = server.transport();
  const change = async (count: number): Promise<void> => {
    for (let changed = 0; changed < count; changed++) {
      const name = `object-${Math.floor(Math.random() * objects)}`;
      const path = `/clusters/root${collection}/${name}`;
      await transport.json({ method: 'PUT', path, body: objectText(name) });
    }
  };
  for (const count of [5, 40]) {
    const pairs: [Cost, Cost][] = [];
    for (let round = 0; round < 2 * rounds + 2; round++) {
      await change(count);
      const base = await cost(server, agent, plain);
      await change(count);
      pairs.push([await cost(server, agent, gzip), base]);
    }
    const warm = pairs.slice(2);
    report({
      name: `LIST in gzip after ${count} updates, main thread`,
      value: median(warm.map(([own, base]) => own.work / base.work)),
      unit: 'x',
      baseline: `plain LIST after ${count} updates`,
      target: { atMost: 1 },
      note: compared(warm),
    });
  }
  transport.close();
  agent.destroy();
}

async function warmLists(): Promise<void> {
  const agent = newAgent();
  const all: { plain: Cost; gzip: Cost; protobuf: Cost }[] = [];
  for (let round = 0; round < rounds + 2; round++)
    all.push({
      plain: await cost(server, agent, plain),
      gzip: await cost(server, agent, gzip),
      protobuf: await cost(server, agent, protobuf),
    });
  agent.destroy();
  const warm = all.slice(2);
  for (const [kind, target] of [
    ['gzip', 1],
    ['protobuf', 2],
  ] as const)
    report({
      name: `LIST in ${kind}, main thread`,
      value: median(warm.map((one) => one[kind].work / one.plain.work)),
      unit: 'x',
      baseline: 'plain LIST',
      target: { atMost: target },
      note: compared(warm.map((one) => [one[kind], one.plain])),
    });
}

async function againstKubernetes(binaries: string): Promise<void> {
  const reference = await ReferenceServer.start(binaries);
  try {
    const theirs = { port: reference.port, token: reference.token, prefix: '' };
    const ours = { port: server.port, token: server.token, prefix: '/clusters/root' };
    await reference.fill(objects, objectText);
    const agent = newAgent();
    const timed = async (target: Target): Promise<number> => {
      const began = performance.now();
      await list(agent, target, gzip);
      return performance.now() - began;
    };
    const pairs: [number, number][] = [];
    for (let round = 0; round < rounds + 2; round++) pairs.push([await timed(theirs), await timed(ours)]);
    agent.destroy();
    const warm = pairs.slice(2);
    report({
      name: 'LIST in gzip, by the clock',
      value: median(warm.map(([base, own]) => own / base)),
      unit: 'x',
      baseline: 'kube-apiserver with etcd on the same machine, asked in turns',
      target: { atMost: 1 },
      note: `${rounded(warm.map(([, own]) => own))} ms against ${rounded(warm.map(([base]) => base))} ms`,
    });
  } finally {
    await reference.stop();
  }
}
