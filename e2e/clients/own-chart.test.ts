import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { nativeDefinitions } from '../fixtures/native-definitions.ts';
import { describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

const repository = join(import.meta.dirname, '..', '..');
const definitions = join(import.meta.dirname, '..', 'fixtures', 'crds');
/** Kinds of the chart that are built in or that a definition brings. */
const kinds = new Set(['ConfigMap', 'Deployment', 'Service', 'Certificate', 'Issuer']);

/** The chart as Helm renders it, as far as a workspace has its kinds. */
const documents = readFileSync(join(repository, 'deploy', 'helm', 'rendered', 'default.yaml'), 'utf8')
  .split(/^---$/m)
  .filter((document) => kinds.has(/^kind: (\w+)$/m.exec(document)?.[1] ?? ''));

describeWithKubectl('the chart of this repository, applied to a workspace', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await kubectl.create(...nativeDefinitions);
    const files = readdirSync(definitions).filter((file) => /^(certificates|issuers)\.cert-manager/.test(file));
    await kubectl.create(...files.map((file) => JSON.parse(readFileSync(join(definitions, file), 'utf8')) as object));
    for (const name of ['services.core', 'deployments.apps', 'certificates.cert-manager.io', 'issuers.cert-manager.io'])
      await kubectl.ok(['wait', '--for=condition=Established', `crd/${name}`, '--timeout=20s']);
  }, 180_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('every object is accepted as it is, and applying it again changes nothing', async () => {
    const apply = async (): Promise<string[]> =>
      (await kubectl.ok(['apply', '-f', '-'], { stdin: documents.join('\n---\n') })).trim().split('\n');
    const created = await apply();
    expect(created).toHaveLength(documents.length);
    expect(created.filter((line) => !line.endsWith(' created'))).toEqual([]);
    expect(created.length).toBeGreaterThan(40);
    expect((await apply()).filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
  }, 240_000);

  test('what was applied reads back as it was meant', async () => {
    const args = await kubectl.ok([
      'get',
      'deployment',
      'mp-multiplane-front-proxy',
      '-o',
      'jsonpath={.spec.template.spec.containers[0].args[0]}',
    ]);
    expect(args).toBe('front-proxy');
    expect(
      await kubectl.ok([
        'get',
        'certificate',
        'mp-multiplane-shard-admin',
        '-o',
        'jsonpath={.spec.subject.organizations}',
      ]),
    ).toBe('["system:masters"]');
  });
});
