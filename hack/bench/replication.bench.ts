import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeForStorage } from '@multiplane/apiserver';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { Reflector, RestClient, RestTransport } from '@multiplane/client';
import { systemClock } from '@multiplane/component-base';
import { ensureAuthority } from '@multiplane/component-base/pki';
import { cacheKey } from '@multiplane/storage';
import { openJetStreamStorage } from '@multiplane/storage/jetstream';
import { eventually, freePorts, NatsServer, ProcessInfo } from '@multiplane/testing';
import { ServerProcess } from './api/server-process.ts';
import { report } from './report.ts';

/*
 * Replication of cached objects between shards: from a write on a shard over NATS to a watch on a cache server, and the
 * start of a cache server with many cached objects. Each server is a separate process.
 */
const writesPerSecond = 200;
const measuredSeconds = 8;
const warmUpSeconds = 2;
const cachedObjects = 100_000;
const cachedObjectBytes = 1024;

const root = 'root' as LogicalClusterName;
const clusterRoles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };

console.log('\nReplication');
/** Running cache servers; they are killed after a failure. */
const running = new Set<ChildProcess>();
const nats = await NatsServer.start();
const directory = mkdtempSync(join(tmpdir(), 'multiplane-bench-cache-'));
const authority = await ensureAuthority({
  commonName: 'clients',
  certificateFile: join(directory, 'client-ca.crt'),
  privateKeyFile: join(directory, 'client-ca.key'),
});
const identity = await authority.issueClient({ user: 'bench', groups: ['system:masters'] });
try {
  await measureDelay();
  await measureCatchUp();
} finally {
  for (const child of running) child.kill('SIGKILL');
  await nats[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}

async function measureDelay(): Promise<void> {
  const cache = await startCacheServer();
  // As one of several shards, which reads cached objects of other shards from the cache server.
  const shard = await ServerProcess.create([
    '--nats-servers',
    nats.url,
    '--cache-kubeconfig',
    writeCacheKubeconfig(cache.port),
  ]);
  const transport = cacheTransport(cache.port);
  const stop = new AbortController();
  const requested = new Map<string, number>();
  const acknowledged = new Map<string, number>();
  const received = new Map<string, number>();
  const reflector = new Reflector(
    { resource: clusterRoles, pathPrefix: '/services/cache/shards/*' },
    {
      transport,
      clock: systemClock,
      onFailure: (error) => console.error(error),
      sink: {
        beginReplace: () => {},
        upsert: (_object, { name }) => {
          if (requested.has(name) && !received.has(name)) received.set(name, performance.now());
        },
        remove: () => {},
        endReplace: () => {},
      },
    },
  );
  const watching = reflector.run(stop.signal);
  try {
    await shard.start();
    await reflector.synced;
    const client = new RestClient({ transport: shard.transport() });
    const write = async (name: string): Promise<void> => {
      requested.set(name, performance.now());
      await client.create(clusterRoles, root, roleOf(name));
      acknowledged.set(name, performance.now());
    };
    await atRate('warm', warmUpSeconds, write);
    await atRate('role', measuredSeconds, write);
    await eventually(() => {
      if (received.size < requested.size) throw new Error(`${received.size} of ${requested.size} were received`);
    });
  } finally {
    stop.abort();
    await watching;
    transport.close();
    await stopServer(cache.child);
    await shard.remove();
  }
  const names = [...requested.keys()].filter((name) => name.startsWith('role'));
  const since = (from: Map<string, number>): number[] =>
    names.map((name) => Math.max(0, (received.get(name) ?? 0) - (from.get(name) ?? 0))).sort((x, y) => x - y);
  const at = (delays: number[], share: number): number => delays[Math.floor(delays.length * share)] as number;
  const [delays, whole] = [since(acknowledged), since(requested)];
  report({
    name: "object written on a shard, read from a cache server's watch, p99",
    value: at(delays, 0.99),
    unit: 'ms',
    baseline: 'the acknowledgement of the write',
    target: { atMost: 50 },
    note: `p50 ${at(delays, 0.5).toFixed(1)} ms; with the write p50 ${at(whole, 0.5).toFixed(1)}, p99 ${at(whole, 0.99).toFixed(1)} ms; ${names.length} writes, ${writesPerSecond}/s`,
  });
}

async function measureCatchUp(): Promise<void> {
  const empty = await startCacheServer();
  const before = residentBytes(empty.child);
  await stopServer(empty.child);
  await fill();
  const began = performance.now();
  const full = await startCacheServer();
  const elapsed = performance.now() - began;
  const transport = cacheTransport(full.port);
  const list = await transport.json({
    method: 'GET',
    path: '/services/cache/shards/bulk/clusters/*/apis/apis.kcp.io/v1alpha1/apiresourceschemas?limit=1',
  });
  const held =
    1 + ((list as unknown as { metadata: { remainingItemCount?: number } }).metadata.remainingItemCount ?? 0);
  if (held !== cachedObjects) throw new Error(`the cache server is ready with ${held} of ${cachedObjects} objects`);
  report({
    name: 'a new cache server is ready with 100,000 replicas of 1 KiB after',
    value: elapsed / 1000,
    unit: 's',
    target: { atMost: 10 },
    note: 'the start of the process included',
  });
  report({
    name: 'memory of a cache server per replica of 1 KiB, beyond its bytes',
    value: ((residentBytes(full.child) - before) / cachedObjects - cachedObjectBytes) / 1024,
    unit: 'KiB',
    target: { atMost: 1.2 },
  });
  transport.close();
  await stopServer(full.child);
}

/** Publishes objects as a shard does. */
async function fill(): Promise<void> {
  const storage = await openJetStreamStorage({
    servers: [nats.url],
    stream: 'multiplane',
    subjectPrefix: 'multiplane.cache',
  });
  const kind = { group: 'apis.kcp.io', resource: 'apiresourceschemas' };
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cachedObjects) {
      const index = next++;
      const cluster = `c${index % 1000}` as LogicalClusterName;
      const name = `schema-${index}`;
      await storage.create(
        cacheKey(kind, { shard: 'bulk', cluster, namespace: '', name }),
        encodeForStorage(cachedObjectOf(cluster, name)),
      );
    }
  };
  await Promise.all(Array.from({ length: 64 }, work));
  await storage.close();
}

function cachedObjectOf(cluster: string, name: string): KubeObject {
  const object = {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: {
      name,
      uid: '00000000-0000-4000-8000-000000000000',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'kcp.io/cluster': cluster,
        'kcp.io/shard': 'bulk',
        'cache.kcp.io/original-resource-version': '123456',
        'cache.kcp.io/original-resource-UID': '00000000-0000-4000-8000-000000000000',
      },
    },
    spec: { filler: '' },
  };
  object.spec.filler = 'x'.repeat(cachedObjectBytes - encodeForStorage(object).length);
  return object;
}

function roleOf(name: string): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, annotations: { 'internal.kcp.io/replicate': 'tenancy.kcp.io' } },
    rules: [{ apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['use'], resourceNames: [name] }],
  };
}

/** Starts writes at a fixed rate, independent of the completion of earlier ones. */
async function atRate(prefix: string, seconds: number, write: (name: string) => Promise<void>): Promise<void> {
  const began = performance.now();
  const writes: Promise<void>[] = [];
  for (let index = 0; index < seconds * writesPerSecond; index++) {
    const due = began + (index * 1000) / writesPerSecond;
    await systemClock.sleep(Math.max(0, due - performance.now()));
    writes.push(write(`${prefix}-${index}`));
  }
  await Promise.all(writes);
}

async function startCacheServer(): Promise<{ child: ChildProcess; port: number }> {
  const [port] = (await freePorts(1)) as [number];
  const flags: Record<string, string> = {
    'root-directory': join(directory, 'cache-server'),
    'client-ca-file': join(directory, 'client-ca.crt'),
    'nats-servers': nats.url,
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
  };
  const child = spawn(
    join(import.meta.dirname, '..', '..', 'bin', 'multiplane'),
    ['cache-server', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } },
  );
  running.add(child);
  const transport = cacheTransport(port);
  await eventually(
    async () => {
      const response = await transport.open({ method: 'GET', path: '/readyz' });
      response.resume();
      if (response.statusCode !== 200) throw new Error(`/readyz answered ${response.statusCode}`);
    },
    { timeout: 60_000, interval: 20 },
  );
  transport.close();
  return { child, port };
}

async function stopServer(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  running.delete(child);
}

function writeCacheKubeconfig(port: number): string {
  const file = join(directory, 'cache.kubeconfig');
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'cache',
    clusters: [{ name: 'cache', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    contexts: [{ name: 'cache', context: { cluster: 'cache', user: 'shard' } }],
    users: [
      {
        name: 'shard',
        user: {
          'client-certificate-data': encoded(identity.certificatePem),
          'client-key-data': encoded(identity.privateKeyPem),
        },
      },
    ],
  };
  writeFileSync(file, JSON.stringify(kubeconfig));
  return file;
}

function cacheTransport(port: number): RestTransport {
  return new RestTransport({
    config: {
      server: `https://127.0.0.1:${port}`,
      insecure: true,
      certificate: identity.certificatePem,
      key: identity.privateKeyPem,
    },
  });
}

function residentBytes({ pid }: ChildProcess): number {
  return new ProcessInfo().memory(pid as number).anonymous;
}
