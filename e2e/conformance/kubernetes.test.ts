import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { createWorkspace, grantAccess } from '../harness/workspaces.ts';
import { playScenario } from './play-scenario.ts';
import { recordedDifferences } from './recorded-differences.ts';
import { runName } from './run-name.ts';
import { namesNothing, readScenario, scenarioFiles } from './scenario-files.ts';
import { ScenarioTransport } from './transport.ts';

const scenarios = scenarioFiles('kubernetes-scenarios');
const { leftOut } = recordedDifferences('kubernetes');
const expected = scenarios.filter(({ key }) => leftOut[key] === undefined);

let cluster: ControlPlane;
let transport: ScenarioTransport;

beforeAll(async () => {
  cluster = await startControlPlane();
  const admin = cluster.transport('shard-base');
  const workspace = await createWorkspace(admin, 'root', 'conformance');
  await grantAccess(admin, workspace, ['user-1', 'user-2', 'user-3', 'other', 'system:anonymous']);
  admin.close();
  transport = new ScenarioTransport({
    server: cluster.url,
    shard: cluster.rootShard.url,
    prefix: `/clusters/${workspace}`,
    tokens: { ...testTokens, admin: testTokens.masters },
    ca: cluster.ca,
  });
}, 180_000);

afterAll(async () => {
  transport?.close();
  await cluster?.[Symbol.asyncDispose]();
});

describe('a workspace answers as a Kubernetes 1.36 server does', () => {
  test.concurrent.each(expected)(
    '$key',
    async (file) => {
      const problems = await playScenario(
        readScenario(file),
        { timeoutSeconds: 20, run: runName(file.key) },
        transport,
      );
      expect(problems).toEqual([]);
    },
    180_000,
  );
});

test('every exception names a scenario that is there', () => {
  expect(namesNothing(scenarios, [leftOut])).toEqual([]);
});
