import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { notOnShards, playedAtShard, shardDifferences, shardIgnored } from './kcp-on-shards.ts';
import { playScenario } from './play-scenario.ts';
import { recordedDifferences } from './recorded-differences.ts';
import { runName } from './run-name.ts';
import { namesNothing, readScenario, recordedScenarios, scenarioFiles } from './scenario-files.ts';
import { ScenarioTransport } from './transport.ts';

const { leftOut, different: differences, raced: races, ignored } = recordedDifferences('kcp');
const isSharded = topologyName === 'sharded';
const scenarios = scenarioFiles('kcp-scenarios');
const expected = scenarios.filter(
  ({ key }) => leftOut[key] === undefined && !(isSharded && notOnShards[key] !== undefined),
);

/** The users the recordings know, with the uids and groups they were recorded with. */
const users = [1, 2, 3, 4, 5].map((n) => ({
  name: `user-${n}`,
  token: `user-${n}-token`,
  uid: Array(4).fill(String(n).repeat(4)).join('-'),
}));
const uidOfAdmin = '5555-5555-5555-5555';

let cluster: ControlPlane;
let transport: ScenarioTransport;
let shardTransport: ScenarioTransport;

beforeAll(async () => {
  cluster = await startControlPlane({
    // The recordings are of one shard; here all other servers stand apart from it.
    shards: ['root'],
    // No other suite has these options.
    ownProcesses: true,
    flags: [
      '--feature-gates',
      'WorkspaceMounts=true,CacheAPIs=true,WorkspaceAuthentication=true,LogicalClusterMigration=true',
    ],
    tokens: [
      `kcp-masters,admin,${uidOfAdmin},"system:masters"`,
      ...users.map(({ name, token, uid }) => `${token},${name},${uid},"team-${name.slice(-1)}"`),
    ],
  });
  const target = {
    prefix: '',
    tokens: {
      admin: cluster.adminToken,
      masters: 'kcp-masters',
      ...Object.fromEntries(users.map(({ name, token }) => [name, token])),
    },
    ca: cluster.ca,
  };
  transport = new ScenarioTransport({ ...target, server: cluster.url });
  shardTransport = new ScenarioTransport({ ...target, server: cluster.rootShard.url });
}, 180_000);

afterAll(async () => {
  transport?.close();
  shardTransport?.close();
  await cluster?.[Symbol.asyncDispose]();
});

describe('a shard answers as kcp 0.32 does, or better', () => {
  test.concurrent.each(expected)(
    '$key',
    async (scenarioFile) => {
      const { key } = scenarioFile;
      const scenario = readScenario(scenarioFile);
      const wanted = { ...differences[key], ...(isSharded ? shardDifferences[key] : {}) };
      const raced = races[key] ?? {};
      const problems = await playScenario(
        scenario,
        {
          timeoutSeconds: 20,
          run: runName(key),
          ignore: Object.keys({ ...ignored[key], ...(isSharded ? shardIgnored[key] : {}) }),
          different: new Set(Object.keys({ ...wanted, ...raced }).map(Number)),
        },
        isSharded && playedAtShard[key] !== undefined ? shardTransport : transport,
      );
      expect(problems.filter(({ step }) => wanted[step] === undefined && raced[step] === undefined)).toEqual([]);
      // What is listed as different has to be, or the list would not shrink.
      const different = new Set(problems.map(({ step }) => step));
      expect(Object.keys(wanted).filter((step) => !different.has(Number(step)))).toEqual([]);
    },
    180_000,
  );
});

/** Recorded from one shard without a front-proxy, as generated scenarios of hack/conformance. */
const generated = isSharded ? [] : recordedScenarios('recorded-kcp');

if (generated.length > 0)
  describe('generated requests are answered as by kcp 0.32', () => {
    test.concurrent.each(generated)(
      '$name',
      async (scenario) => {
        const options = { timeoutSeconds: 20, run: runName(scenario.name) };
        expect(await playScenario(scenario, options, transport)).toEqual([]);
      },
      180_000,
    );
  });

test('every exception names a scenario that is there', () => {
  const lists = [leftOut, differences, races, ignored, playedAtShard, notOnShards, shardDifferences, shardIgnored];
  expect(namesNothing(scenarios, lists)).toEqual([]);
});
