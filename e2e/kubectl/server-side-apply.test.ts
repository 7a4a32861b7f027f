import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { configMap, gadget, defineGadgets } from '../fixtures/gadgets.ts';
import { describeWithKubectl, documents, type Kubectl, type KubectlResult } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

interface Managed {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly managedFields?: { manager: string; operation: string }[];
  };
  readonly data?: Record<string, string>;
  readonly spec?: { readonly color?: string; readonly parts?: unknown };
}

describeWithKubectl('kubectl apply --server-side', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  const apply = (manager: string, object: object, ...flags: string[]): Promise<KubectlResult> =>
    kubectl.run(['apply', '--server-side', `--field-manager=${manager}`, '-f', '-', ...flags], {
      stdin: documents(object),
    });
  const stored = (resource: string, name: string): Promise<Managed> =>
    kubectl.json<Managed>(['get', resource, name, '--show-managed-fields']);

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await defineGadgets(kubectl);
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('creates, leaves alone, changes, and removes what its manager no longer names', async () => {
    expect((await apply('me', configMap('c', { a: '1', b: '2' }))).stdout).toBe('configmap/c serverside-applied\n');
    const { resourceVersion } = (await stored('cm', 'c')).metadata;
    await apply('me', configMap('c', { a: '1', b: '2' }));
    expect((await stored('cm', 'c')).metadata.resourceVersion).toBe(resourceVersion);
    await apply('me', configMap('c', { a: '2' }));
    const after = await stored('cm', 'c');
    expect([after.data, after.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])]).toEqual([
      { a: '2' },
      [['me', 'Apply']],
    ]);
  });

  test('a conflict names field and manager; --force-conflicts takes over', async () => {
    await apply('me', configMap('contested', { a: '1', b: '1' }));
    const refused = await apply('you', configMap('contested', { a: '2' }));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Apply failed with 1 conflict: conflict with "me": .data.a'),
    ]);
    expect((await apply('you', configMap('contested', { a: '2' }), '--force-conflicts')).code).toBe(0);
    expect((await stored('cm', 'contested')).data).toEqual({ a: '2', b: '1' });
    // What both want the same is owned by both, and stays when one lets go.
    await apply('me', configMap('contested', { a: '2' }));
    await apply('you', configMap('contested', {}));
    expect((await stored('cm', 'contested')).data).toEqual({ a: '2' });
  });

  test('merges the keyed lists of a definition by owner', async () => {
    await apply('me', gadget('g', { parts: [{ name: 'a', size: 1 }] }));
    await apply('you', gadget('g', { color: 'blue', parts: [{ name: 'b', size: 2 }] }));
    expect((await stored('gadget', 'g')).spec).toEqual({
      color: 'blue',
      parts: [
        { name: 'a', size: 1 },
        { name: 'b', size: 2 },
      ],
    });
    await apply('me', gadget('g', {}));
    expect((await stored('gadget', 'g')).spec).toEqual({ color: 'blue', parts: [{ name: 'b', size: 2 }] });
  });

  test('diff and a dry run show the outcome and store nothing', async () => {
    await apply('me', configMap('compared', { a: '1' }));
    const changed = documents(configMap('compared', { a: '2' }));
    const diff = await kubectl.run(['diff', '--server-side', '--field-manager=me', '-f', '-'], { stdin: changed });
    expect([diff.code, diff.stdout]).toEqual([1, expect.stringMatching(/^- {2}a: "1"\n\+ {2}a: "2"$/m)]);
    expect((await apply('me', configMap('compared', { a: '3' }), '--dry-run=server')).stdout).toBe(
      'configmap/compared serverside-applied (server dry run)\n',
    );
    expect((await stored('cm', 'compared')).data).toEqual({ a: '1' });
  });

  test('takes over what was applied on the client side', async () => {
    await kubectl.apply(configMap('migrated', { a: '1', b: '2' }));
    expect(
      (
        await kubectl.run(['apply', '--server-side', '-f', '-'], {
          stdin: documents(configMap('migrated', { a: '2' })),
        })
      ).code,
    ).toBe(0);
    expect((await stored('cm', 'migrated')).data).toEqual({ a: '2' });
  });

  test('refuses what the schema does not know', async () => {
    const wrong = await apply('me', gadget('wrong', { colour: 'red' }));
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/\.spec\.colour: field not declared in schema/),
    ]);
  });
});
