import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeWith, programOnPath } from '../harness/foreign-program.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';
import { testTokens } from '../harness/local-cluster.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, 'helm');

/** A request as Helm 3.22 sends it for the chart in `helm/chart`, and the status that Kubernetes answers. */
interface HelmRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
  readonly type?: string;
  readonly json?: unknown;
  /** A body in protobuf. */
  readonly base64?: string;
  readonly status: number;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

describe('what Helm sends', () => {
  let workspace: KubectlWorkspace;
  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
  }, 120_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  const phases = JSON.parse(readFileSync(join(folder, 'requests.data.json'), 'utf8')) as Record<string, HelmRequest[]>;
  const spec = async (path: string): Promise<Record<string, unknown> | number> => {
    const answer = await send({ method: 'GET', path, status: 0 });
    return answer.status === 200 ? (JSON.parse(answer.body) as Record<string, unknown>) : answer.status;
  };
  const send = ({ method, path, accept, type, json, base64 }: HelmRequest): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const body = base64 === undefined ? JSON.stringify(json) : Buffer.from(base64, 'base64');
      const outgoing = request(
        `${workspace.server}${path}`,
        {
          method,
          ca: workspace.cluster.ca,
          headers: {
            authorization: `Bearer ${testTokens.masters}`,
            ...(accept === undefined ? {} : { accept }),
            ...(type === undefined ? {} : { 'content-type': type }),
            // Not chunked: Node sends the body of a DELETE without saying that there is one.
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });

  async function play(phase: string): Promise<void> {
    const wrong: unknown[] = [];
    for (const step of phases[phase] as HelmRequest[]) {
      const { status, body } = await send(step);
      // A definition takes a moment to be served; Helm asks until it is.
      if (status !== step.status) wrong.push([step.method, step.path, step.status, status, body.slice(0, 300)]);
      if (step.method === 'POST' && step.path.includes('customresourcedefinitions'))
        await workspace.kubectl.ok([
          'wait',
          '--for=condition=Established',
          'crd/gizmos.helm.example.com',
          '--timeout=10s',
        ]);
    }
    expect(wrong).toEqual([]);
  }
  const settings = '/api/v1/namespaces/default/configmaps/r1-settings';
  const gizmo = '/apis/helm.example.com/v1/namespaces/default/gizmos/r1';

  test('to install a chart with a definition', async () => {
    await play('install');
    expect(await spec(settings)).toMatchObject({ data: { color: 'red' } });
    expect(await spec(gizmo)).toMatchObject({ spec: { color: 'red', size: 3 } });
  });

  test('to upgrade it: three-way patches, new objects, hooks', async () => {
    await play('upgrade');
    expect(await spec(settings)).toMatchObject({ data: { color: 'blue', extra: 'x' } });
    expect(await spec(gizmo)).toMatchObject({ spec: { color: 'blue', size: 3 } });
    expect(await spec('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r1')).toMatchObject({
      kind: 'Role',
    });
  });

  test('to roll it back', async () => {
    await play('rollback');
    expect(await spec(settings)).toMatchObject({ data: { color: 'red' } });
    expect(await spec('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r1')).toBe(404);
  });

  test('to upgrade to what the definition refuses, and to uninstall', async () => {
    await play('upgrade that is refused');
    expect(await spec(gizmo)).toMatchObject({ spec: { color: 'red', size: 3 } });
    await play('uninstall');
    expect([await spec(settings), await spec(gizmo)]).toEqual([404, 404]);
  });
});

describeWith(programOnPath('helm', 'version', '--short'), 'Helm itself', (command) => {
  test('installs, upgrades, rolls back and uninstalls a chart with a definition', async () => {
    await using workspace = await KubectlWorkspace.start();
    const { kubectl } = workspace;
    const helm = async (...parameters: string[]): Promise<string> => {
      const { stdout } = await run(command, [...parameters, '--kubeconfig', kubectl.kubeconfig], {
        env: { ...process.env, HOME: workspace.cluster.path('helm-home') },
      });
      return stdout;
    };
    const chart = join(folder, 'chart');
    expect(await helm('install', 'r1', chart, '--wait')).toContain('STATUS: deployed');
    await helm('upgrade', 'r1', chart, '--wait', '--set', 'color=blue,extra=x,withRole=true');
    expect(await kubectl.ok(['get', 'gizmo/r1', '-o', 'jsonpath={.spec}'])).toBe('{"color":"blue","size":3}');
    await helm('rollback', 'r1', '1', '--wait');
    expect(await kubectl.json(['get', 'cm/r1-settings'])).toMatchObject({ data: { color: 'red' } });
    await expect(helm('upgrade', 'r1', chart, '--set', 'size=0')).rejects.toThrow(
      'should be greater than or equal to 1',
    );
    await helm('uninstall', 'r1', '--wait');
    expect(await kubectl.ok(['get', 'gizmo/r1', 'cm/r1-settings', '--ignore-not-found'])).toBe('');
  }, 120_000);
});
