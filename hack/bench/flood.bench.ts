import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { JsonObject } from '@multiplane/apimachinery';
import { node, ServerProcess } from './api/server-process.ts';
import { many, post, readyWorkspaces } from './load.ts';
import { report } from './report.ts';

/*
 * What a tenant feels of another one that floods the server: the p99 of its GET and PATCH. Both are administrators of a
 * workspace of their own and nothing else, with the default limits of workspaces. Under a minute; `flood.bench.ts get list` runs some of the floods, and
 * `flood.bench.ts --seconds=20` longer ones, for a busy machine.
 */

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '4.5' } },
  allowPositionals: true,
});
const phaseMs = Number(values.seconds) * 1_000;
const objects = 2_000;
const floods: Record<string, string> = {
  get: '64 connections x 10 pipelined GET',
  list: '64 connections x 10 pipelined LIST of 2,000 x 1 KiB',
  apply: '64 connections x 10 applies of 3,000 keys',
  leaving: '200 connections x 1 apply of 3,000 keys, closed at once',
  resets: '200 streams x 1 apply of 3,000 keys, reset at once',
  openapi: '64 connections x 10 OpenAPI documents',
  watch: 'storms of 2,000 watches',
  definitions: '64 connections x 10 new definitions',
};

interface Latencies {
  readonly took: Record<'get' | 'patch', readonly number[]>;
  /** Processor time of the server's main thread during each request. */
  readonly work: Record<'get' | 'patch', readonly number[]>;
  readonly failures: Readonly<Record<string, number>>;
}

console.log('\nA neighbour under flood');
const folder = mkdtempSync(join(tmpdir(), 'multiplane-flood-'));
const tokens = join(folder, 'tokens.csv');
writeFileSync(tokens, 'flood-token,flood,1\nneighbour-token,neighbour,2\n');
const server = await ServerProcess.create(['--token-auth-file', tokens]);
await server.start();
try {
  const [flooded, quiet] = await tenants();
  await run('neighbour.ts', 'neighbour-token', quiet, String(server.pid), String(2_000));
  const idle = await measured(quiet);
  for (const verb of ['get', 'patch'] as const) tell(verb, 'idle', idle, undefined, '');
  for (const [kind, name] of Object.entries(floods)) {
    if (positionals.length > 0 && !positionals.includes(kind)) continue;
    const attack = run('attacker.ts', 'flood-token', flooded, kind, String(phaseMs + 1_000));
    await delay(700);
    const [under, statuses] = await Promise.all([measured(quiet), attack]);
    for (const verb of ['get', 'patch'] as const) {
      const limit = Math.ceil(Math.max(100, 5 * atShare(idle.took[verb], 0.99)));
      tell(verb, name, under, limit, `flood ${statuses.trim()}`);
    }
    report({
      name: `failed requests of a neighbour; ${name}`,
      value: Object.values(under.failures).reduce((sum, count) => sum + count, 0),
      unit: 'requests',
      target: { atMost: 0 },
      note: JSON.stringify(under.failures),
    });
    await delay(500);
  }
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

function tell(
  verb: 'get' | 'patch',
  name: string,
  { took, work }: Latencies,
  limit: number | undefined,
  note: string,
): void {
  const target = limit === undefined ? undefined : { atMost: limit };
  report({
    name: `p99 of ${verb.toUpperCase()} of a neighbour; ${name}`,
    value: atShare(took[verb], 0.99),
    unit: 'ms',
    target,
    note: `p50 ${atShare(took[verb], 0.5).toFixed(1)} ms, ${took[verb].length} requests${note === '' ? '' : `; ${note}`}`,
  });
  report({
    name: `p99 of what ${verb.toUpperCase()} of a neighbour waits for; ${name}`,
    value: atShare(work[verb], 0.99),
    unit: 'ms',
    target: target === undefined ? undefined : { atMost: 100 },
    note: `processor time of the server's main thread; p50 ${atShare(work[verb], 0.5).toFixed(1)} ms`,
  });
}

function atShare(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function measured(workspace: string): Promise<Latencies> {
  return JSON.parse(
    await run('neighbour.ts', 'neighbour-token', workspace, String(server.pid), String(phaseMs)),
  ) as Latencies;
}

/** Runs a script of the folder `flood` to its end; returns its output. */
function run(script: string, ...args: string[]): Promise<string> {
  const file = join(import.meta.dirname, 'flood', script);
  const child = spawn(node, ['--conditions=multiplane-source', file, String(server.port), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve) => {
    child.on('close', () => resolve(output));
  });
}

/** The workspaces of the tenant that floods and of its neighbour, with what they read. */
async function tenants(): Promise<[string, string]> {
  const transport = server.transport();
  const workspaces = await readyWorkspaces(transport, 'root', { count: 2, clients: 2, prefix: 'flood' });
  const [flooded = '', quiet = ''] = workspaces;
  const path = (workspace: string, rest: string): string => `/clusters/${workspace}${rest}`;
  for (const [workspace, user] of [
    [flooded, 'flood'],
    [quiet, 'neighbour'],
  ] as const) {
    await post(transport, path(workspace, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'), {
      metadata: { name: 'tenant' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  }
  for (const name of ['many', 'few']) {
    await post(transport, path(flooded, '/api/v1/namespaces'), { metadata: { name } });
  }
  const configMap = (name: string): JsonObject => ({ metadata: { name }, data: { value: 'x'.repeat(750) } });
  const create = (workspace: string, namespace: string, name: string): Promise<unknown> =>
    post(transport, path(workspace, `/api/v1/namespaces/${namespace}/configmaps`), configMap(name));
  await many(objects, 32, (n) => create(flooded, 'many', `object-${n}`));
  await many(20, 10, (n) => create(flooded, 'few', `object-${n}`));
  await create(quiet, 'default', 'mine');
  transport.close();
  return [flooded, quiet];
}
