import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RawConnection } from './api/raw-client.ts';
import { ServerProcess } from './api/server-process.ts';
import { post, readyWorkspaces } from './load.ts';
import { report } from './report.ts';

/*
 * What a client gets of the limit of requests per second of its workspace: alone, beside a neighbour with little to do, and
 * beside one that keeps the server busy with lists. It waits as `Retry-After` says; the burst is used up before.
 */

const limit = 300;
const measuredMs = 5_000;
const folder = mkdtempSync(join(tmpdir(), 'multiplane-limits-'));
const tokens = join(folder, 'tokens.csv');
writeFileSync(tokens, 'limited-token,limited,1\nneighbour-token,neighbour,2\n');
const server = await ServerProcess.create([
  '--token-auth-file',
  tokens,
  `--workspace-max-requests-per-second=${limit}`,
]);

interface Served {
  readonly perSecond: number;
  readonly refused: number;
  readonly p99: number;
}

/** GETs at full speed over `connections`, or one every `pauseMs` on each. */
async function client(token: string, path: string, connections: number, ms: number, pauseMs = 0): Promise<Served> {
  const get = `GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`;
  const took: number[] = [];
  let refused = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await RawConnection.open(server.port);
      while (performance.now() < began + ms) {
        const sent = performance.now();
        const { status } = await connection.send(get);
        took.push(performance.now() - sent);
        if (status === 429) {
          refused++;
          took.pop();
          await delay(1_000);
        }
        if (pauseMs > 0) await delay(pauseMs);
      }
      connection.close();
    }),
  );
  took.sort((a, b) => a - b);
  const seconds = (performance.now() - began) / 1_000;
  return { perSecond: took.length / seconds, refused, p99: took[Math.floor(took.length * 0.99)] ?? Number.NaN };
}

console.log('\nA client at the limit of its workspace');
await server.start();
try {
  const transport = server.transport();
  const [limited = '', other = ''] = await readyWorkspaces(transport, 'root', {
    count: 2,
    clients: 2,
    prefix: 'limits',
  });
  const maps = (workspace: string): string => `/clusters/${workspace}/api/v1/namespaces/default/configmaps`;
  for (const [workspace, user] of [
    [limited, 'limited'],
    [other, 'neighbour'],
  ] as const) {
    await post(transport, `/clusters/${workspace}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, {
      metadata: { name: 'tenant' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
    await post(transport, maps(workspace), { metadata: { name: 'one' }, data: { value: 'x'.repeat(700) } });
  }
  for (let n = 0; n < 500; n++)
    await post(transport, maps(other), { metadata: { name: `listed-${n}` }, data: { value: 'x'.repeat(700) } });
  transport.close();
  const get = `${maps(limited)}/one`;
  await client('limited-token', get, 64, 4_000);
  const idle = await client('neighbour-token', `${maps(other)}/one`, 2, 2_000, 5);
  for (const connections of [1, 64]) {
    const alone = await client('limited-token', get, connections, measuredMs);
    tell(`${connections} connections, alone`, alone, 0.95);
    const [beside, neighbour] = await Promise.all([
      client('limited-token', get, connections, measuredMs),
      client('neighbour-token', `${maps(other)}/one`, 2, measuredMs, 5),
    ]);
    tell(`${connections} connections, beside a quiet neighbour`, beside, 0.95);
    report({
      name: `p99 of GET of that neighbour; ${connections} connections at the limit`,
      value: neighbour.p99,
      unit: 'ms',
      target: { atMost: Math.max(20, 3 * idle.p99) },
      note: `${idle.p99.toFixed(1)} ms while the server is idle`,
    });
  }
  const [beside] = await Promise.all([
    client('limited-token', get, 64, measuredMs),
    client('neighbour-token', maps(other), 16, measuredMs),
  ]);
  tell('64 connections, beside a neighbour that lists at full speed', beside, 0.95);
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

function tell(name: string, { perSecond, refused, p99 }: Served, atLeast: number): void {
  report({
    name: `share of its limit that a client gets; ${name}`,
    value: perSecond / limit,
    unit: 'x',
    target: { atLeast },
    note: `${Math.round(perSecond)}/s of ${limit}/s, p99 ${p99.toFixed(1)} ms, ${refused} refused`,
  });
}
