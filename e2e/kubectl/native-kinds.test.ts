import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deployment, nativeDefinitions } from '../fixtures/native-definitions.ts';
import { describeWithKubectl, documents, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: unknown;
}

describeWithKubectl('kubectl and kinds of Kubernetes that definitions bring back', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  const containersOf = async (name: string): Promise<Container[]> => {
    const { spec } = await kubectl.json<{ spec: { template: { spec: { containers: Container[] } } } }>([
      'get',
      'deployment',
      name,
    ]);
    return spec.template.spec.containers;
  };

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await kubectl.create(...nativeDefinitions);
    for (const name of ['pods.core', 'services.core', 'deployments.apps'])
      await kubectl.ok(['wait', '--for=condition=Established', `crd/${name}`, '--timeout=10s']);
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('commands that send typed objects: create, run, expose', async () => {
    expect(await kubectl.ok(['create', 'deployment', 'typed', '--image=typed:1', '--replicas=2'])).toBe(
      'deployment.apps/typed created\n',
    );
    expect(await kubectl.ok(['run', 'alone', '--image=alone:1', '--env=A=1'])).toBe('pod/alone created\n');
    expect(await kubectl.ok(['expose', 'deployment', 'typed', '--port=80'])).toBe('service/typed exposed\n');
    expect((await containersOf('typed')).map(({ name, image }) => `${name} ${image}`)).toEqual(['typed typed:1']);
  });

  test('the columns are those of Kubernetes', async () => {
    await kubectl.create(deployment('shown', 'one', 'two'));
    const [head, row] = (await kubectl.ok(['get', 'deployment', 'shown', '-o', 'wide'])).split('\n');
    expect(head?.split(/\s{2,}/)).toEqual([
      'NAME',
      'READY',
      'UP-TO-DATE',
      'AVAILABLE',
      'AGE',
      'CONTAINERS',
      'IMAGES',
      'SELECTOR',
    ]);
    expect(row).toMatch(/^shown +0\/1 +0 +0 +\S+ +one,two +one:1,two:1 +app=shown$/);
    const all = await kubectl.ok(['get', 'all']);
    expect(all).toMatch(/^deployment\.apps\/shown +0\/1/m);
  });

  test('apply merges containers by their names, and takes away only its own', async () => {
    await kubectl.apply(deployment('merged', 'a', 'b'));
    await kubectl.ok([
      'patch',
      'deployment',
      'merged',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"s"}]}}}}',
    ]);
    const { stdout } = await kubectl.run(['diff', '-f', '-'], { stdin: documents(deployment('merged', 'a')) });
    expect(stdout).toMatch(/^- {8}name: b$/m);
    expect(await kubectl.apply(deployment('merged', 'a'))).toBe('deployment.apps/merged configured\n');
    expect((await containersOf('merged')).map(({ name }) => name).sort()).toEqual(['a', 'sidecar']);
  });

  test('two managers apply containers of one deployment on the server', async () => {
    const apply = (manager: string, ...names: string[]): Promise<string> =>
      kubectl.ok(['apply', '--server-side', `--field-manager=${manager}`, '-f', '-'], {
        stdin: documents(deployment('shared', ...names)),
      });
    expect(await apply('one', 'a', 'b')).toBe('deployment.apps/shared serverside-applied\n');
    await apply('two', 'sidecar');
    await apply('one', 'a');
    expect((await containersOf('shared')).map(({ name }) => name).sort()).toEqual(['a', 'sidecar']);
  });

  test('set, scale, label, annotate, rollout restart', async () => {
    await kubectl.create(deployment('changed', 'a', 'b'));
    await kubectl.ok(['set', 'image', 'deployment/changed', 'b=b:2']);
    await kubectl.ok(['set', 'env', 'deployment/changed', '-c', 'a', 'X=1']);
    expect(await containersOf('changed')).toMatchObject([
      { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] },
      { name: 'b', image: 'b:2' },
    ]);
    expect(await kubectl.ok(['scale', 'deployment', 'changed', '--replicas=5'])).toBe(
      'deployment.apps/changed scaled\n',
    );
    expect(await kubectl.ok(['get', 'deployment', 'changed', '-o', 'jsonpath={.spec.replicas}'])).toBe('5');
    await kubectl.ok(['label', 'deployment', 'changed', 'x=y']);
    await kubectl.ok(['annotate', 'deployment', 'changed', 'x=y']);
    expect(await kubectl.ok(['rollout', 'restart', 'deployment/changed'])).toBe('deployment.apps/changed restarted\n');
    expect(await kubectl.ok(['describe', 'deployment', 'changed'])).toMatch(/^Selector: +app=changed$/m);
  });

  test('explain', async () => {
    expect(await kubectl.ok(['explain', 'pod.spec.containers'])).toMatch(
      /FIELD: containers <\[\]Object>[^]*Name of the container\./,
    );
    expect(await kubectl.ok(['explain', 'deployment', '--recursive'])).toMatch(/^ {8}containers\t<\[\]Object>$/m);
  });
});
