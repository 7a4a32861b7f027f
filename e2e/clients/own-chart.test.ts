import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  chartFolder,
  matrix,
  releases,
  renderedFolder,
  setArguments,
  templateArguments,
} from '../../hack/helm/chart.ts';
import { manifestsOf } from '../../hack/helm/manifests.ts';
import { describeWith, programOnPath } from '../harness/foreign-program.ts';
import { describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

/*
 * The Helm chart of this repository, installed in a workspace that has the kinds of a Kubernetes cluster: definitions with
 * structural schemas from Kubernetes' OpenAPI documents, cert-manager, Gateway API, OpenShift and the Prometheus operator.
 */

const run = promisify(execFile);
const fixtures = join(import.meta.dirname, '..', 'fixtures');
const definitionsIn = (folder: string, wanted: RegExp): { readonly metadata: { readonly name: string } }[] =>
  readdirSync(join(fixtures, folder))
    .filter((file) => wanted.test(file))
    .map((file) => JSON.parse(readFileSync(join(fixtures, folder, file), 'utf8')) as { metadata: { name: string } });
const definitions = [
  ...definitionsIn('chart-kinds', /./),
  ...definitionsIn('crds', /^(certificates|issuers)\.cert-manager|^tlsroutes\./),
];
/** Resources that hold what a release makes. */
const resources = ['configmaps', 'secrets', ...definitions.map(({ metadata }) => metadata.name.replace(/\.core$/, ''))];

async function startWithKinds(): Promise<KubectlWorkspace> {
  const workspace = await KubectlWorkspace.start();
  await workspace.kubectl.create(...definitions);
  await workspace.kubectl.ok([
    'wait',
    '--for=condition=Established',
    ...definitions.map(({ metadata }) => `crd/${metadata.name}`),
    '--timeout=60s',
  ]);
  return workspace;
}

/** `Kind/name` of every object with the label of the release. */
async function objectsOf(kubectl: Kubectl): Promise<string[]> {
  const { items } = await kubectl.json<{ items: { kind: string; metadata: { name: string } }[] }>([
    'get',
    resources.join(','),
    '--selector=app.kubernetes.io/instance=mp',
  ]);
  return items.map(({ kind, metadata }) => `${kind}/${metadata.name}`).toSorted();
}
const lines = (text: string): string[] => text.trim().split('\n');
const namesIn = (text: string): string[] => manifestsOf(text).map(({ kind, metadata }) => `${kind}/${metadata.name}`);

describeWithKubectl('the chart of this repository, applied to a workspace', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  beforeAll(async () => {
    workspace = await startWithKinds();
    kubectl = workspace.kubectl;
  }, 180_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test.each(Object.keys(releases))(
    'release %s: a dry run, then for real, then again without a change, then deleted',
    async (release) => {
      const text = readFileSync(join(renderedFolder, `${release}.yaml`), 'utf8');
      const apply = async (...flags: string[]): Promise<string[]> =>
        lines(await kubectl.ok(['apply', '--server-side', ...flags, '-f', '-'], { stdin: text }));
      const expected = namesIn(text);

      const dry = await apply('--dry-run=server');
      expect(dry.filter((line) => !line.endsWith(' serverside-applied (server dry run)'))).toEqual([]);
      expect(dry).toHaveLength(expected.length);
      expect(await objectsOf(kubectl)).toEqual([]);

      await apply();
      expect(await objectsOf(kubectl)).toEqual(expected.toSorted());
      const revisions = (): Promise<string> =>
        kubectl.ok(['get', resources.join(','), '-o', 'jsonpath={.items[*].metadata.resourceVersion}']);
      const before = await revisions();
      await apply();
      expect(await revisions()).toBe(before);

      const args = 'jsonpath={.spec.template.spec.containers[0].args[0]}';
      expect(await kubectl.ok(['get', 'deployment', 'mp-multiplane-front-proxy', '-o', args])).toBe('front-proxy');
      await kubectl.ok(['delete', '-f', '-'], { stdin: text });
      expect(await objectsOf(kubectl)).toEqual([]);
    },
    240_000,
  );

  test('a field that a kind does not have, and a value of another type, are refused', async () => {
    const text = readFileSync(join(renderedFolder, 'default.yaml'), 'utf8');
    const refused = (from: RegExp, to: string): Promise<string> =>
      kubectl.fails(['apply', '--server-side', '--dry-run=server', '-f', '-'], { stdin: text.replace(from, to) });
    expect(text).toContain('terminationGracePeriodSeconds: 90');
    expect(await refused(/terminationGracePeriodSeconds: 90/, 'terminationGrace: 90')).toContain('terminationGrace');
    expect(await refused(/terminationGracePeriodSeconds: 90/, 'terminationGracePeriodSeconds: long')).toContain(
      'terminationGracePeriodSeconds',
    );
  }, 60_000);
});

describeWith(programOnPath('helm', 'version', '--short'), 'the chart of this repository, with Helm', (helm) => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  beforeAll(async () => {
    workspace = await startWithKinds();
    kubectl = workspace.kubectl;
  }, 180_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  const call = async (...parameters: string[]): Promise<string> => {
    const { stdout } = await run(helm, [...parameters, '--kubeconfig', kubectl.kubeconfig], {
      env: { ...process.env, HOME: workspace.cluster.path('helm-home') },
      maxBuffer: 16 << 20,
    });
    return stdout;
  };
  const template = async (release: string): Promise<string> =>
    (await run(helm, templateArguments(release), { maxBuffer: 16 << 20 })).stdout;

  test.each(Object.keys(matrix))(
    'values %s: every object is accepted by a dry run',
    async (release) => {
      const text = await template(release);
      const accepted = lines(
        await kubectl.ok(['apply', '--server-side', '--dry-run=server', '-f', '-'], { stdin: text }),
      );
      expect(accepted.filter((line) => !line.endsWith(' serverside-applied (server dry run)'))).toEqual([]);
      expect(accepted).toHaveLength(namesIn(text).length);
      expect(await objectsOf(kubectl)).toEqual([]);
    },
    120_000,
  );

  // Each upgrades from the values before it.
  test.each(Object.keys(matrix))(
    'values %s: helm installs or upgrades to exactly these objects',
    async (release) => {
      const values = setArguments(release);
      expect(await call('upgrade', 'mp', chartFolder, '--install', '--reset-values', ...values)).toContain(
        'STATUS: deployed',
      );
      expect(await objectsOf(kubectl)).toEqual(namesIn(await template(release)).toSorted());
    },
    120_000,
  );

  test('helm rolls back to the first values, and uninstalls everything', async () => {
    await call('rollback', 'mp', '1');
    expect(await objectsOf(kubectl)).toEqual(namesIn(await template('default')).toSorted());
    await call('uninstall', 'mp');
    expect(await objectsOf(kubectl)).toEqual([]);
  }, 120_000);
});

describe('definitions of the kinds', () => {
  test('every kind of the renderings has one, so that no object is applied without a schema', () => {
    const known = new Set([
      'ConfigMap',
      ...definitions.map((each) => (each as unknown as { spec: { names: { kind: string } } }).spec.names.kind),
    ]);
    const used = Object.keys(releases).flatMap((release) =>
      manifestsOf(readFileSync(join(renderedFolder, `${release}.yaml`), 'utf8')).map(({ kind }) => kind),
    );
    expect([...new Set(used)].filter((kind) => !known.has(kind))).toEqual([]);
  });
});
