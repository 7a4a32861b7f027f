import { ServerProcess } from './api/server-process.ts';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { report } from './report.ts';
import { RequestRounds, verbs, type Cost, type Verb } from './sharded-requests/request-rounds.ts';

/*
 * What a request costs in the sharded shape, through the front-proxy, against the same request in one process. By processor
 * time of all processes: nine of them and the client share the processors of this machine. Both sides run at once and take
 * turns, so that they see the same machine.
 */
const warmUp = 3_000;
const requests = 2_000;
const rounds = 3;
/** Seconds for 1,000 requests; DELETE, UPDATE and PATCH have one target. */
const targets: Readonly<Record<Verb, number>> = { GET: 0.15, CREATE: 0.6, UPDATE: 0.65, PATCH: 0.65, DELETE: 0.65 };
/** Its user has the limits of any other, and the servers are measured, not their limits. */
const flags = ['--workspace-max-requests-per-second=0'];

console.log('\nRequests of the sharded shape');
const cluster = await ShardedCluster.start({ flags });
const server = await ServerProcess.create(flags);
try {
  await server.start();
  const identity = clientPair(cluster);
  const processes = new Map(cluster.processes.map((name) => [name, cluster.process(name)]));
  const sharded = await RequestRounds.open({ port: cluster.port, identity, processes });
  const single = await RequestRounds.open({
    port: server.port,
    token: server.token,
    processes: new Map([['the server', server]]),
  });
  await single.all(warmUp);
  await sharded.all(warmUp);
  const pairs: { readonly one: ReadonlyMap<Verb, Cost>; readonly many: ReadonlyMap<Verb, Cost> }[] = [];
  for (let n = 0; n < rounds; n++) pairs.push({ one: await single.all(requests), many: await sharded.all(requests) });
  for (const verb of verbs)
    reportVerb(
      verb,
      pairs.map(({ one, many }) => ({ one: one.get(verb) as Cost, many: many.get(verb) as Cost })),
    );
  sharded.close();
  single.close();
} finally {
  await server.remove();
  await cluster[Symbol.asyncDispose]();
}

/** The pair whose ratio is the median; its cost against the target, its ratio, and the share of each process. */
function reportVerb(verb: Verb, pairs: readonly { readonly one: Cost; readonly many: Cost }[]): void {
  const sorted = pairs.toSorted((a, b) => a.many.each / a.one.each - b.many.each / b.one.each);
  const { one, many } = sorted[Math.floor(sorted.length / 2)] as (typeof pairs)[number];
  const shares = [...many.of].filter(([, seconds]) => seconds >= 0.005);
  const note =
    `${shares.map(([name, seconds]) => `${name} ${seconds.toFixed(3)} s, ${(seconds / one.each).toFixed(1)} x`).join('; ')}; ` +
    `${Math.round(many.perSecond)}/s with 64 connections, the client on the same processors`;
  report({
    name: `${verb} through the front-proxy, processor time of all processes`,
    value: many.each / one.each,
    unit: 'x',
    baseline: 'the same in one process',
    note: `${one.each.toFixed(3)} s for 1,000 in one process`,
  });
  report({
    name: `${verb} through the front-proxy, processor time for 1,000`,
    value: many.each,
    unit: 's',
    target: { atMost: targets[verb] },
    note,
  });
}

function clientPair(from: ShardedCluster): { readonly cert: string; readonly key: string } {
  const { certificate, key } = from.config('root');
  if (certificate === undefined || key === undefined)
    throw new Error('the administrator of the cluster has no certificate');
  return { cert: certificate, key };
}
