import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { createWorkspace, grantAccess } from '../harness/workspaces.ts';
import { playScenario } from './play-scenario.ts';
import { runName } from './run-name.ts';
import { recordedScenarios } from './scenario-files.ts';
import { ScenarioTransport } from './transport.ts';

/** Files of hack/conformance: one topic each, one scenario a line, with the answers of a kube-apiserver of 1.36. */
const scenarios = recordedScenarios('recorded');

let cluster: ControlPlane;
let transport: ScenarioTransport;

beforeAll(async () => {
  // Webhooks of the scenarios stay, and refuse that their workspace is emptied.
  cluster = await startControlPlane({ ownProcesses: true });
  const admin = cluster.transport('shard-base');
  const workspace = await createWorkspace(admin, 'root', 'recorded');
  await grantAccess(admin, workspace, ['user-1', 'user-2', 'user-3', 'system:anonymous']);
  admin.close();
  transport = new ScenarioTransport({
    server: cluster.url,
    prefix: `/clusters/${workspace}`,
    tokens: { ...testTokens, admin: testTokens.masters },
    ca: cluster.ca,
  });
}, 180_000);

afterAll(async () => {
  transport?.close();
  await cluster?.[Symbol.asyncDispose]();
});

describe('a workspace answers generated requests as a kube-apiserver of 1.36 does', () => {
  test.concurrent.each(scenarios)(
    '$name',
    async (scenario) => {
      const problems = await playScenario(scenario, { timeoutSeconds: 20, run: runName(scenario.name) }, transport);
      expect(problems).toEqual([]);
    },
    180_000,
  );
});
