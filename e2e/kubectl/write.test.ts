import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { configMap, gadget, defineGadgets } from '../fixtures/gadgets.ts';
import { describeWithKubectl, documents, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

interface Stored {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly data?: Record<string, string>;
  readonly spec?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

describeWithKubectl('kubectl writes', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  const stored = (resource: string, name: string): Promise<Stored> => kubectl.json<Stored>(['get', resource, name]);

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await defineGadgets(kubectl);
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('apply creates, leaves alone, changes, and removes only what it had set', async () => {
    expect(await kubectl.apply(configMap('applied', { a: '1', b: '2' }))).toBe('configmap/applied created\n');
    expect(await kubectl.apply(configMap('applied', { a: '1', b: '2' }))).toBe('configmap/applied unchanged\n');
    await kubectl.ok(['patch', 'cm', 'applied', '-p', '{"data":{"foreign":"3"}}']);
    expect(await kubectl.apply(configMap('applied', { a: '9' }))).toBe('configmap/applied configured\n');
    expect((await stored('cm', 'applied')).data).toEqual({ a: '9', foreign: '3' });
  });

  test('apply of a custom resource creates, changes and prunes fields', async () => {
    const named = (parts: object[]): Record<string, unknown> => gadget('applied', { color: 'green', parts });
    expect(await kubectl.apply(named([{ name: 'a', size: 1 }, { name: 'b' }]))).toBe(
      'gadget.e2e.example.com/applied created\n',
    );
    expect(await kubectl.apply(named([{ name: 'a', size: 1 }, { name: 'b' }]))).toBe(
      'gadget.e2e.example.com/applied unchanged\n',
    );
    expect(await kubectl.apply(named([{ name: 'b' }]))).toBe('gadget.e2e.example.com/applied configured\n');
    expect((await stored('gadget', 'applied')).spec).toEqual({ color: 'green', parts: [{ name: 'b' }] });
    expect(await kubectl.apply(gadget('applied', {}))).toBe('gadget.e2e.example.com/applied configured\n');
    // What the applier no longer names falls back to the default of the schema.
    expect((await stored('gadget', 'applied')).spec).toEqual({ color: 'red' });
  });

  test('apply merges the keyed lists of built-in kinds', async () => {
    const account = (...secrets: string[]): Record<string, unknown> => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'merged' },
      secrets: secrets.map((name) => ({ name })),
    });
    await kubectl.apply(account('one', 'two'));
    await kubectl.ok(['patch', 'sa', 'merged', '-p', '{"secrets":[{"name":"foreign"}]}']);
    await kubectl.apply(account('two', 'three'));
    const names = (await kubectl.ok(['get', 'sa', 'merged', '-o', 'jsonpath={.secrets[*].name}'])).split(' ');
    expect(names.sort()).toEqual(['foreign', 'three', 'two']);
  });

  test('apply of files, folders, kustomizations and lists; --prune; view-last-applied', async () => {
    const file = kubectl.file(
      'several.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-file, labels: {pruned: "yes"}}\ndata:\n  plain: "yes"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, labels: {pruned: "yes"}}\n',
    );
    expect(await kubectl.ok(['apply', '-f', file])).toBe('configmap/from-file created\nconfigmap/second created\n');
    expect((await stored('cm', 'from-file')).data).toEqual({ plain: 'yes' });
    expect(await kubectl.ok(['apply', 'view-last-applied', 'cm', 'from-file', '-o', 'json'])).toContain(
      '"plain": "yes"',
    );
    const only = documents(configMap('second', {}, { labels: { pruned: 'yes' } }));
    expect(
      await kubectl.ok(['apply', '-f', '-', '--prune', '-l', 'pruned=yes', '--prune-allowlist=core/v1/ConfigMap'], {
        stdin: only,
      }),
    ).toContain('configmap/from-file pruned\n');
    expect(await kubectl.fails(['get', 'cm', 'from-file'])).toContain('NotFound');
    expect(await kubectl.apply({ apiVersion: 'v1', kind: 'List', items: [configMap('in-list')] })).toBe(
      'configmap/in-list created\n',
    );
    kubectl.file(
      'kustomization.yaml',
      'resources: [several.yaml]\nnamePrefix: kust-\nlabels: [{pairs: {pruned: "no"}}]\n',
    );
    expect(await kubectl.ok(['apply', '-k', '.'])).toBe(
      'configmap/kust-from-file created\nconfigmap/kust-second created\n',
    );
  });

  test('apply refuses unknown fields, and only warns with --validate=warn', async () => {
    const wrong = documents(gadget('wrong', { colour: 'red' }));
    expect(await kubectl.fails(['apply', '-f', '-'], { stdin: wrong })).toMatch(
      /strict decoding error: unknown field "spec\.colour"/,
    );
    const { code, stderr } = await kubectl.run(['apply', '-f', '-', '--validate=warn'], { stdin: wrong });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Warning: unknown field "spec.colour"')]);
    expect(
      await kubectl.fails(['apply', '-f', '-'], { stdin: documents(gadget('wrong', { color: 'pink' })) }),
    ).toContain('spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"');
    const duplicate = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dup\n  nope: 1\n';
    expect(await kubectl.fails(['create', '-f', '-'], { stdin: duplicate })).toMatch(/unknown field "metadata\.nope"/);
  });

  test('--validate=strict refuses unknown fields with every verb, and stores nothing', async () => {
    const strict = ['-f', '-', '--validate=strict'];
    await kubectl.create(configMap('strict'), gadget('strict', { color: 'red' }));
    const nope = { metadata: { name: 'strict', nope: 1 } };
    for (const verb of ['apply', 'replace']) {
      const wrong = documents({ ...configMap('strict'), ...nope }, gadget('strict', { color: 'blue', colour: 'red' }));
      const text = await kubectl.fails([verb, ...strict], { stdin: wrong });
      expect([verb, text]).toEqual([
        verb,
        expect.stringContaining('strict decoding error: unknown field "metadata.nope"'),
      ]);
      expect(text).toContain('strict decoding error: unknown field "spec.colour"');
    }
    expect(await kubectl.ok(['get', 'gadget', 'strict', '-o', 'jsonpath={.spec}'])).toBe('{"color":"red"}');
    const created = documents(gadget('strict-new', { colour: 'red' }));
    expect(await kubectl.fails(['create', ...strict], { stdin: created })).toContain('unknown field "spec.colour"');
    expect(await kubectl.fails(['get', 'gadget', 'strict-new'])).toContain('NotFound');
    await kubectl.ok(['delete', 'gadget/strict', 'configmap/strict']);
  });

  test('apply of a kind that is not there says what to do', async () => {
    const missing = { apiVersion: 'nowhere.example.com/v1', kind: 'Thing', metadata: { name: 'x' } };
    expect(await kubectl.fails(['apply', '-f', '-'], { stdin: documents(missing) })).toMatch(
      /no matches for kind "Thing" in version "nowhere\.example\.com\/v1"\s+ensure CRDs are installed first/,
    );
  });

  test('diff shows what apply would change, and changes nothing', async () => {
    await kubectl.apply(configMap('compared', { a: '1' }), gadget('compared', { replicas: 1 }));
    expect(
      await kubectl.ok(['diff', '-f', '-'], {
        stdin: documents(configMap('compared', { a: '1' }), gadget('compared', { replicas: 1 })),
      }),
    ).toBe('');
    const { code, stdout } = await kubectl.run(['diff', '-f', '-'], {
      stdin: documents(
        configMap('compared', { a: '2' }),
        gadget('compared', { replicas: 4 }),
        configMap('not-there', { key: 'new' }),
      ),
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^- {2}a: "1"\n\+ {2}a: "2"$/m);
    expect(stdout).toMatch(/^- {2}replicas: 1\n\+ {2}replicas: 4$/m);
    expect(stdout).toMatch(/^\+ {2}key: new$/m);
    expect((await stored('cm', 'compared')).data).toEqual({ a: '1' });
    expect((await stored('gadget', 'compared')).metadata.generation).toBe(1);
  });

  test('--dry-run=server goes all the way and stores nothing; --dry-run=client does not ask', async () => {
    expect(await kubectl.ok(['create', 'configmap', 'dry', '--from-literal=a=b', '--dry-run=server'])).toBe(
      'configmap/dry created (server dry run)\n',
    );
    expect(
      await kubectl.ok(['create', 'configmap', 'dry', '--dry-run=server', '-o', 'jsonpath={.metadata.uid}']),
    ).toMatch(/^[0-9a-f-]{36}$/);
    expect(await kubectl.ok(['create', 'configmap', 'dry', '--dry-run=client'])).toBe(
      'configmap/dry created (dry run)\n',
    );
    expect(await kubectl.fails(['get', 'cm', 'dry'])).toContain('NotFound');
    await kubectl.create(configMap('kept', { a: '1' }));
    expect(await kubectl.deletes(['delete', 'cm', 'kept', '--dry-run=server'])).toBe(
      'configmap "kept" deleted (server dry run)\n',
    );
    expect(
      await kubectl.ok(['label', 'cm', 'kept', 'x=y', '--dry-run=server', '-o', 'jsonpath={.metadata.labels.x}']),
    ).toBe('y');
    expect(await kubectl.fails(['create', 'configmap', 'kept', '--dry-run=server'])).toContain(
      'configmaps "kept" already exists',
    );
    expect((await stored('cm', 'kept')).metadata.labels).toBeUndefined();
    expect(
      await kubectl.fails(['apply', '-f', '-', '--dry-run=server'], {
        stdin: documents(gadget('dry', { replicas: -1 })),
      }),
    ).toContain('spec.replicas in body should be greater than or equal to 0');
  });

  test('patch with the four types', async () => {
    await kubectl.create(configMap('patched', { a: '1', b: '2' }), gadget('patched', { parts: [{ name: 'a' }] }), {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'patched' },
      secrets: [{ name: 'x' }],
    });
    expect(await kubectl.ok(['patch', 'cm', 'patched', '--type=merge', '-p', '{"data":{"a":null,"c":"3"}}'])).toBe(
      'configmap/patched patched\n',
    );
    expect(await kubectl.ok(['patch', 'cm', 'patched', '--type=merge', '-p', '{"data":{"c":"3"}}'])).toBe(
      'configmap/patched patched (no change)\n',
    );
    expect(
      await kubectl.ok([
        'patch',
        'cm',
        'patched',
        '--type=json',
        '-p',
        '[{"op":"test","path":"/data/c","value":"3"},{"op":"replace","path":"/data/c","value":"4"}]',
      ]),
    ).toBe('configmap/patched patched\n');
    expect((await stored('cm', 'patched')).data).toEqual({ b: '2', c: '4' });
    expect(await kubectl.ok(['patch', 'sa', 'patched', '-p', '{"secrets":[{"name":"y"}]}'])).toBe(
      'serviceaccount/patched patched\n',
    );
    expect((await kubectl.ok(['get', 'sa', 'patched', '-o', 'jsonpath={.secrets[*].name}'])).split(' ').sort()).toEqual(
      ['x', 'y'],
    );
    expect(
      await kubectl.ok([
        'patch',
        'gadget',
        'patched',
        '--type=json',
        '-p',
        '[{"op":"add","path":"/spec/parts/-","value":{"name":"b"}}]',
      ]),
    ).toBe('gadget.e2e.example.com/patched patched\n');
    expect(await kubectl.fails(['patch', 'gadget', 'patched', '-p', '{"spec":{"color":"blue"}}'])).toContain(
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    );
    expect(
      await kubectl.fails([
        'patch',
        'cm',
        'patched',
        '--type=json',
        '-p',
        '[{"op":"test","path":"/data/c","value":"no"}]',
      ]),
    ).toContain('the server rejected our request due to an error in our request');
    expect(await kubectl.fails(['patch', 'cm', 'missing', '-p', '{}'])).toContain('configmaps "missing" not found');
  });

  test('edit with an editor that changes, one that does not, and one that is refused', async () => {
    await kubectl.create(configMap('edited', { word: 'old' }), gadget('edited', { color: 'green' }));
    const editor = (expression: string): { env: Record<string, string> } => ({
      env: { KUBE_EDITOR: `sed -i -e '${expression}'` },
    });
    expect(await kubectl.ok(['edit', 'cm', 'edited'], editor('s/old/new/'))).toBe('configmap/edited edited\n');
    expect((await stored('cm', 'edited')).data).toEqual({ word: 'new' });
    expect((await kubectl.run(['edit', 'cm', 'edited'], editor('s/nothing/matches/'))).stderr).toContain(
      'Edit cancelled, no changes made.',
    );
    expect(await kubectl.ok(['edit', 'gadget', 'edited'], editor('s/green/blue/'))).toBe(
      'gadget.e2e.example.com/edited edited\n',
    );
    expect((await stored('gadget', 'edited')).spec).toEqual({ color: 'blue' });
    expect(await kubectl.fails(['edit', 'gadget', 'edited'], editor('s/blue/pink/'))).toContain(
      'gadgets.e2e.example.com "edited" is invalid',
    );
    expect(
      await kubectl.ok(
        ['edit', 'gadget', 'edited', '--subresource=status'],
        editor('s/^spec:/status:\\n  phase: Fine\\nspec:/'),
      ),
    ).toBe('gadget.e2e.example.com/edited edited\n');
    expect((await stored('gadget', 'edited')).status).toEqual({ phase: 'Fine' });
  });

  test('label and annotate add, refuse to overwrite, overwrite, list and remove', async () => {
    await kubectl.create(configMap('marked'), configMap('marked-too'));
    expect(await kubectl.ok(['label', 'cm', 'marked', 'marked-too', 'env=dev', 'tier=x'])).toBe(
      'configmap/marked labeled\nconfigmap/marked-too labeled\n',
    );
    expect(await kubectl.fails(['label', 'cm', 'marked', 'env=prod'])).toContain(
      "'env' already has a value (dev), and --overwrite is false",
    );
    expect(await kubectl.ok(['label', 'cm', '-l', 'env=dev', 'env=prod', '--overwrite'])).toBe(
      'configmap/marked labeled\nconfigmap/marked-too labeled\n',
    );
    expect(await kubectl.ok(['label', 'cm', 'marked', 'env=prod', '--overwrite'])).toBe(
      'configmap/marked not labeled\n',
    );
    expect((await kubectl.ok(['label', 'cm', 'marked', '--list'])).trim().split('\n').sort()).toEqual([
      'env=prod',
      'tier=x',
    ]);
    expect(await kubectl.ok(['label', 'cm', 'marked', 'tier-'])).toBe('configmap/marked unlabeled\n');
    expect(await kubectl.fails(['label', 'cm', 'marked', 'bad key=x'])).toContain('invalid');
    expect(await kubectl.ok(['annotate', 'cm', 'marked', 'note=hello world', 'more=1'])).toBe(
      'configmap/marked annotated\n',
    );
    expect(await kubectl.ok(['annotate', 'cm', 'marked', 'more-'])).toBe('configmap/marked annotated\n');
    expect((await stored('cm', 'marked')).metadata).toMatchObject({
      labels: { env: 'prod' },
      annotations: { note: 'hello world' },
    });
    expect((await stored('cm', 'marked')).metadata.annotations).not.toHaveProperty('more');
    expect(await kubectl.fails(['label', '--overwrite', 'cm', 'marked', '--resource-version=1', 'x=y'])).toContain(
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  test('replace, replace --force, and replace of a stale or missing object', async () => {
    await kubectl.create(configMap('replaced', { a: '1', b: '2' }));
    const before = await stored('cm', 'replaced');
    expect(await kubectl.ok(['replace', '-f', '-'], { stdin: documents(configMap('replaced', { a: '2' })) })).toBe(
      'configmap/replaced replaced\n',
    );
    const after = await stored('cm', 'replaced');
    expect([after.data, after.metadata.uid]).toEqual([{ a: '2' }, before.metadata.uid]);
    const stale = documents(configMap('replaced', { a: '3' }, { resourceVersion: before.metadata.resourceVersion }));
    expect(await kubectl.fails(['replace', '-f', '-'], { stdin: stale })).toContain(
      'Operation cannot be fulfilled on configmaps "replaced": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(
      await kubectl.deletes(['replace', '--force', '-f', '-'], { stdin: documents(configMap('replaced', { a: '4' })) }),
    ).toBe('configmap "replaced" deleted\nconfigmap/replaced replaced\n');
    expect((await stored('cm', 'replaced')).metadata.uid).not.toBe(before.metadata.uid);
    expect(await kubectl.fails(['replace', '-f', '-'], { stdin: documents(configMap('never')) })).toContain(
      'configmaps "never" not found',
    );
  });

  test('--subresource=status of get, patch and replace; the main resource ignores status', async () => {
    await kubectl.create({ ...gadget('with-status', { color: 'green' }), status: { phase: 'ignored' } });
    expect((await stored('gadget', 'with-status')).status).toBeUndefined();
    await kubectl.ok(['patch', 'gadget', 'with-status', '--type=merge', '-p', '{"status":{"phase":"ignored"}}']);
    expect((await stored('gadget', 'with-status')).status).toBeUndefined();
    expect(
      await kubectl.ok([
        'patch',
        'gadget',
        'with-status',
        '--subresource=status',
        '--type=merge',
        '-p',
        '{"status":{"phase":"Up"},"spec":{"color":"blue"}}',
      ]),
    ).toBe('gadget.e2e.example.com/with-status patched\n');
    const object = await kubectl.json<Stored>(['get', 'gadget', 'with-status', '--subresource=status']);
    expect([object.status, object.spec, object.metadata.generation]).toEqual([{ phase: 'Up' }, { color: 'green' }, 1]);
    const replaced = documents({ ...object, status: { phase: 'Replaced' } });
    expect(await kubectl.ok(['replace', '--subresource=status', '-f', '-'], { stdin: replaced })).toBe(
      'gadget.e2e.example.com/with-status replaced\n',
    );
    expect((await stored('gadget', 'with-status')).status).toEqual({ phase: 'Replaced' });
  });

  test('scale of a custom resource', async () => {
    await kubectl.create(gadget('scaled', { replicas: 1 }));
    expect(await kubectl.ok(['scale', 'gadget', 'scaled', '--replicas=3'])).toBe(
      'gadget.e2e.example.com/scaled scaled\n',
    );
    expect((await stored('gadget', 'scaled')).spec).toMatchObject({ replicas: 3 });
    expect(
      await kubectl.ok(['get', 'gadget', 'scaled', '--subresource=scale', '-o', 'jsonpath={.kind} {.spec.replicas}']),
    ).toBe('Scale 3');
    expect(await kubectl.fails(['scale', 'gadget', 'scaled', '--replicas=5', '--current-replicas=2'])).toContain(
      'Expected replicas to be 2, was 3',
    );
    expect(await kubectl.fails(['scale', 'cm', 'applied', '--replicas=5'])).toMatch(
      /NotFound|could not find the requested resource/,
    );
    expect(
      await kubectl.ok([
        'patch',
        'gadget',
        'scaled',
        '--subresource=scale',
        '--type=merge',
        '-p',
        '{"spec":{"replicas":0}}',
      ]),
    ).toContain('/scaled patched\n');
    expect((await stored('gadget', 'scaled')).spec).toMatchObject({ replicas: 0 });
  });

  test('wait for a condition, a value, a deletion and a creation', async () => {
    await kubectl.create(gadget('awaited'));
    await using condition = kubectl.start(['wait', '--for=condition=Ready', 'gadget/awaited', '--timeout=20s']);
    await using value = kubectl.start([
      'wait',
      '--for=jsonpath={.status.phase}=Done',
      'gadget/awaited',
      '--timeout=20s',
    ]);
    await using creation = kubectl.start(['wait', '--for=create', 'gadget/awaited-new', '--timeout=20s']);
    await kubectl.ok([
      'patch',
      'gadget',
      'awaited',
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"phase":"Done","conditions":[{"type":"Ready","status":"True"}]}}',
    ]);
    expect(await condition.ended()).toMatchObject({
      code: 0,
      stdout: 'gadget.e2e.example.com/awaited condition met\n',
    });
    expect(await value.ended()).toMatchObject({ code: 0, stdout: 'gadget.e2e.example.com/awaited condition met\n' });
    await kubectl.create(gadget('awaited-new'));
    expect(await creation.ended()).toMatchObject({
      code: 0,
      stdout: 'gadget.e2e.example.com/awaited-new condition met\n',
    });
    await using deletion = kubectl.start(['wait', '--for=delete', 'gadget/awaited', '--timeout=20s']);
    await kubectl.ok(['delete', 'gadget', 'awaited']);
    expect((await deletion.ended()).code).toBe(0);
    expect(await kubectl.fails(['wait', '--for=condition=Ready', 'gadget/awaited-new', '--timeout=0s'])).toContain(
      'condition not met for gadgets/awaited-new',
    );
  });

  test('delete by name, selector, file and all; --ignore-not-found; --grace-period', async () => {
    await kubectl.create(
      ...['x1', 'x2', 'x3', 'x4'].map((name) => gadget(name, {}, { labels: { deleted: name < 'x3' ? 'one' : 'two' } })),
    );
    expect(await kubectl.deletes(['delete', 'gadget', '-l', 'deleted=one'])).toBe(
      'gadget.e2e.example.com "x1" deleted\ngadget.e2e.example.com "x2" deleted\n',
    );
    expect(await kubectl.deletes(['delete', '-f', '-', '--grace-period=5'], { stdin: documents(gadget('x3')) })).toBe(
      'gadget.e2e.example.com "x3" deleted\n',
    );
    expect(await kubectl.deletes(['delete', 'gadget', 'x4', '--grace-period=0', '--force'])).toBe(
      'gadget.e2e.example.com "x4" force deleted\n',
    );
    expect(await kubectl.fails(['delete', 'gadget', 'x4'])).toBe(
      'Error from server (NotFound): gadgets.e2e.example.com "x4" not found\n',
    );
    expect(await kubectl.ok(['delete', 'gadget', 'x4', '--ignore-not-found'])).toBe('');
    await kubectl.ok(['delete', 'gadgets', '--all']);
    expect((await kubectl.run(['get', 'gadgets'])).stderr).toBe('No resources found in e2e namespace.\n');
  });

  test('delete --cascade=background, foreground and orphan', async () => {
    for (const cascade of ['background', 'foreground', 'orphan']) {
      await kubectl.create(configMap(`owner-${cascade}`));
      const { uid } = (await stored('cm', `owner-${cascade}`)).metadata;
      const ownerReferences = [
        { apiVersion: 'v1', kind: 'ConfigMap', name: `owner-${cascade}`, uid, blockOwnerDeletion: true },
      ];
      await kubectl.create(
        configMap(`owned-${cascade}`, {}, { ownerReferences }),
        gadget(`owned-${cascade}`, {}, { ownerReferences }),
      );
      expect(await kubectl.deletes(['delete', 'cm', `owner-${cascade}`, `--cascade=${cascade}`])).toBe(
        `configmap "owner-${cascade}" deleted\n`,
      );
    }
    for (const cascade of ['background', 'foreground'])
      await kubectl.ok(['wait', '--for=delete', `cm/owned-${cascade}`, `gadget/owned-${cascade}`, '--timeout=15s']);
    expect((await stored('cm', 'owned-orphan')).metadata).not.toHaveProperty('ownerReferences');
    expect((await stored('gadget', 'owned-orphan')).metadata).not.toHaveProperty('ownerReferences');
  });

  test('delete waits for finalizers, and goes on when they are removed', async () => {
    await kubectl.create(configMap('held', {}, { finalizers: ['e2e.example.com/hold'] }));
    expect(await kubectl.deletes(['delete', 'cm', 'held', '--wait=false'])).toBe('configmap "held" deleted\n');
    await using deletion = kubectl.start(['delete', 'cm', 'held']);
    expect((await stored('cm', 'held')).metadata).toHaveProperty('deletionTimestamp');
    await kubectl.ok(['patch', 'cm', 'held', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]']);
    const { code, stderr } = await deletion.ended();
    // It may have begun only after the object had gone.
    expect([code, stderr]).toEqual(code === 0 ? [0, ''] : [1, expect.stringContaining('NotFound')]);
    expect(await kubectl.fails(['get', 'cm', 'held'])).toContain('NotFound');
  });

  test('delete of a namespace takes its content along', async () => {
    await kubectl.ok(['create', 'namespace', 'doomed']);
    await kubectl.create(
      configMap('inside', {}, { namespace: 'doomed' }),
      gadget('inside', {}, { namespace: 'doomed' }),
    );
    expect(await kubectl.ok(['delete', 'namespace', 'doomed', '--timeout=20s'])).toBe('namespace "doomed" deleted\n');
    expect(await kubectl.fails(['get', 'namespace', 'doomed'])).toContain('namespaces "doomed" not found');
    await kubectl.ok(['create', 'namespace', 'doomed']);
    expect(await kubectl.fails(['get', 'cm', 'inside', '-n', 'doomed'])).toContain('NotFound');
  });
});
