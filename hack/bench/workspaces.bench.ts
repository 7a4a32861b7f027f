import type { JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import type { ControlPlane } from '../../e2e/harness/control-plane.ts';
import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { readyWorkspaces } from './load.ts';
import { report } from './report.ts';

/*
 * How fast workspaces become ready, in one process and over shards of a sharded control plane (issues 4 and 5, speed). Every
 * process and the client share the processors of this machine.
 */
const workspaces = 300;
const warmUp = 60;
const clients = 16;

console.log('\nWorkspaces');
report({
  name: 'workspaces to Ready, flat, one process',
  value: await on(await LocalCluster.start(), (transport) => rate(transport, 'flat', {})),
  unit: '/s',
  target: { atLeast: 200 },
  note: `${workspaces} of type universal, ${clients} clients`,
});
const [one, two] = await on(await ShardedCluster.start(), async (transport) => [
  await rate(transport, 'one', { location: { selector: { matchLabels: { name: 'root' } } } }),
  await rate(transport, 'two', {}),
]);
report({
  name: 'workspaces to Ready over two shards',
  baseline: 'over one of them',
  value: two / one,
  unit: 'x',
  target: { atLeast: 1.5 },
  note: `${Math.round(two)}/s against ${Math.round(one)}/s, nine processes and the client on the same processors`,
});

async function on<T>(cluster: ControlPlane, measure: (transport: RestTransport) => Promise<T>): Promise<T> {
  const transport = cluster.transport('root');
  try {
    return await measure(transport);
  } finally {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  }
}

/** Workspaces that become ready in a second, from the first create to the last of them. */
async function rate(transport: RestTransport, prefix: string, spec: JsonObject): Promise<number> {
  await readyWorkspaces(transport, 'root', { count: warmUp, clients, prefix: `${prefix}-warm`, spec });
  const began = performance.now();
  await readyWorkspaces(transport, 'root', { count: workspaces, clients, prefix, spec });
  return workspaces / ((performance.now() - began) / 1000);
}
