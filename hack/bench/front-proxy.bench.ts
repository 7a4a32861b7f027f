import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CertificateAuthority, ensureAuthority } from '@multiplane/component-base/pki';
import { eventually, freePorts } from '@multiplane/testing';
import { RawConnection, type ClientPair } from './api/raw-client.ts';
import { node, ServerProcess } from './api/server-process.ts';
import { launcherFlags } from './launcher-flags.ts';
import { processorSeconds } from './processor-time.ts';
import { report } from './report.ts';

/*
 * The front-proxy in front of one shard against the shard alone: the same requests, by the same client certificate, over
 * the same number of connections (issue 4, section 6). "Per core" is by the processor time that each process used, so
 * that neither the client nor whatever else the machine does is measured.
 */
const clients = 32;
/** Requests of a round; of the first ones, after which both processes are warm, however busy the machine is. */
const requests = 4_000;
const warmUp = 12_000;
/** Of both in turn. */
const rounds = 9;
const indexed = 1_000_000;
const run = promisify(execFile);

console.log('\nFront-proxy');
const memory = await run(
  node,
  [
    '--conditions=multiplane-source',
    '--disable-warning=ExperimentalWarning',
    '--expose-gc',
    ...launcherFlags(),
    join(import.meta.dirname, 'front-proxy', 'index-memory.ts'),
    String(indexed),
  ],
  { env: { ...process.env, NODE_OPTIONS: '' } },
);
const held = JSON.parse(memory.stdout) as { resident: number; grown: number };
report({
  name: 'index of 1,000,000 logical clusters, resident memory',
  value: held.resident / 2 ** 20,
  unit: 'MiB',
  target: { atMost: 400 },
  note: `${Math.round(held.grown / indexed)} bytes each`,
});

const authority = await CertificateAuthority.create({ commonName: 'requestheader' });
const shard = await ServerProcess.create(['--requestheader-client-ca-file', 'FOLDER/requestheader-ca.crt']);
const file = (name: string): string => join(shard.directory, name);
writeFileSync(file('requestheader-ca.crt'), authority.pem.certificatePem);
const pair = await authority.issueClient({ user: 'kcp-front-proxy' });
writeFileSync(file('proxy.crt'), pair.certificatePem);
writeFileSync(file('proxy.key'), pair.privateKeyPem);
await shard.start();
const proxy = await startProxy();
try {
  await measure();
} finally {
  proxy.child.kill('SIGTERM');
  await once(proxy.child, 'exit');
  await shard.remove();
}

async function measure(): Promise<void> {
  const people = await ensureAuthority({
    commonName: 'clients',
    certificateFile: file('client-ca.crt'),
    privateKeyFile: file('client-ca.key'),
  });
  const certificate = await people.issueClient({ user: 'bench', groups: ['system:kcp:admin'] });
  const identity: ClientPair = { cert: certificate.certificatePem, key: certificate.privateKeyPem };
  const request =
    'GET /clusters/root/api/v1/namespaces/default HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n\r\n';
  await eventually(() => answers(proxy.port, request, identity));

  const round = async (port: number, pid: number, count = requests): Promise<number> => {
    const connections = await Promise.all(Array.from({ length: clients }, () => RawConnection.open(port, identity)));
    const used = processorSeconds({ pid });
    let begun = 0;
    await Promise.all(
      connections.map(async (connection) => {
        while (begun++ < count) {
          const { status } = await connection.send(request);
          if (status !== 200) throw new Error(`answered with ${status}`);
        }
      }),
    );
    const milliseconds = ((processorSeconds({ pid }) - used) * 1000) / count;
    for (const connection of connections) connection.close();
    return milliseconds;
  };
  await round(shard.port, shard.pid, warmUp);
  await round(proxy.port, proxy.pid, warmUp);
  const pairs: [number, number][] = [];
  for (let i = 0; i < rounds; i++) pairs.push([await round(shard.port, shard.pid), await round(proxy.port, proxy.pid)]);
  const [direct, through] = [median(pairs.map(([d]) => d)), median(pairs.map(([, t]) => t))];
  report({
    name: 'GET through the front-proxy, per core',
    value: median(pairs.map(([d, t]) => d / t)),
    unit: 'x',
    baseline: 'GET from the shard, per core of the shard',
    target: { atLeast: 0.5 },
    note: `${Math.round(1000 / through)}/s and core against ${Math.round(1000 / direct)}/s and core`,
  });

  const relay = await startRelay();
  const [alone, behind, relayed] = await latencies([shard.port, proxy.port, relay.port], request, identity);
  relay.child.kill();
  report({
    name: 'latency that the front-proxy adds, p50',
    value: behind - alone,
    unit: 'ms',
    baseline: 'GET from the shard',
    target: { atMost: 0.4 },
    note:
      `${behind.toFixed(2)} ms against ${alone.toFixed(2)} ms, asked in turns; ` +
      `a process that only passes bytes on adds ${(relayed - alone).toFixed(2)} ms`,
  });
}

/**
 * Medians of the milliseconds of a request to each port, one request after the other. The ports take turns, and who is
 * asked first, so that all of them see the same machine, whatever else it does meanwhile. A turn is a hundred requests, as
 * a client stays with its server: in turns of one, each answer would find the caches of the processor filled by another
 * server's.
 */
async function latencies<const Ports extends readonly number[]>(
  ports: Ports,
  request: string,
  identity: ClientPair,
): Promise<{ [Port in keyof Ports]: number }> {
  const asked = await Promise.all(
    ports.map(async (port) => ({ connection: await RawConnection.open(port, identity), times: [] as number[] })),
  );
  for (let turn = 0; turn < 30; turn++) {
    for (let j = 0; j < asked.length; j++) {
      const { connection, times } = asked[(turn + j) % asked.length] as (typeof asked)[number];
      for (let i = 0; i < 100; i++) {
        const began = performance.now();
        await connection.send(request);
        if (turn >= 5) times.push(performance.now() - began);
      }
    }
  }
  return asked.map(({ connection, times }) => {
    connection.close();
    return median(times);
  }) as { [Port in keyof Ports]: number };
}

/** Throws unless a request is answered with 200. */
async function answers(port: number, request: string, identity: ClientPair): Promise<void> {
  const connection = await RawConnection.open(port, identity);
  const { status } = await connection.send(request).finally(() => connection.close());
  if (status !== 200) throw new Error(`answered with ${status}`);
}

async function startRelay(): Promise<{ child: ChildProcess; port: number }> {
  const file = join(import.meta.dirname, 'front-proxy', 'byte-relay.ts');
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...launcherFlags(), file, String(shard.port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, port: Number(line) };
}

async function startProxy(): Promise<{ child: ChildProcess; port: number; pid: number }> {
  const [port] = (await freePorts(1)) as [number];
  const ca = readFileSync(file('ca.crt'), 'utf8');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'shard',
    clusters: [
      {
        name: 'shard',
        cluster: {
          server: `https://127.0.0.1:${shard.port}`,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    contexts: [{ name: 'shard', context: { cluster: 'shard', user: 'admin' } }],
    users: [{ name: 'admin', user: { token: shard.token } }],
  };
  writeFileSync(file('shards.kubeconfig'), JSON.stringify(kubeconfig));
  const mapping = {
    path: '/clusters/',
    backend: 'https://localhost:1',
    backend_server_ca: file('ca.crt'),
    proxy_client_cert: file('proxy.crt'),
    proxy_client_key: file('proxy.key'),
  };
  writeFileSync(file('mapping.yaml'), JSON.stringify([mapping]));
  const flags: Record<string, string> = {
    'mapping-file': file('mapping.yaml'),
    'shards-kubeconfig': file('shards.kubeconfig'),
    'root-directory': file('proxy'),
    'client-ca-file': file('client-ca.crt'),
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
  };
  const child = spawn(
    join(import.meta.dirname, '..', '..', 'bin', 'multiplane'),
    ['front-proxy', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } },
  );
  await eventually(() => answers(port, 'GET /readyz HTTP/1.1\r\nhost: bench\r\n\r\n', {}), { timeout: 60_000 });
  return { child, port, pid: child.pid as number };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
