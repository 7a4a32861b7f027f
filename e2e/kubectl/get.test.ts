import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { configMap, gadget, defineGadgets } from '../fixtures/gadgets.ts';
import { cells, describeWithKubectl, documents, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

describeWithKubectl('kubectl reads', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await defineGadgets(kubectl);
    await kubectl.ok(['create', 'namespace', 'other']);
    await kubectl.create(
      ...['a', 'b', 'c', 'd', 'e'].map((name) =>
        configMap(name, { key: name, more: '1' }, { labels: { app: name < 'c' ? 'first' : 'second', listed: 'yes' } }),
      ),
      configMap('elsewhere', {}, { namespace: 'other', labels: { listed: 'yes' } }),
      gadget('one', { color: 'blue', replicas: 2, parts: [{ name: 'wheel', size: 3 }] }, { labels: { app: 'first' } }),
      gadget('two', { color: 'green', replicas: 5 }),
    );
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('get prints a table of a built-in kind', async () => {
    const [header, ...rows] = cells(await kubectl.ok(['get', 'configmaps', '-l', 'listed']));
    expect(header).toEqual(['NAME', 'DATA', 'AGE']);
    expect(rows.map(([name, data]) => [name, data])).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => [name, '2']));
    expect(rows.every(([, , age]) => /^(\d+m)?\d+s$|^\d+m$/.test(age ?? ''))).toBe(true);
  });

  test('get by short name, singular, resource/name and several kinds at once', async () => {
    expect(await kubectl.ok(['get', 'cm', 'a', '-o', 'name'])).toBe('configmap/a\n');
    expect(await kubectl.ok(['get', 'configmap/a', 'gd/one', '-o', 'name'])).toBe(
      'configmap/a\ngadget.e2e.example.com/one\n',
    );
    expect(await kubectl.ok(['get', 'gadget,cm', '-l', 'app=first', '-o', 'name'])).toBe(
      'gadget.e2e.example.com/one\nconfigmap/a\nconfigmap/b\n',
    );
    expect(await kubectl.ok(['get', 'gadgets.v1.e2e.example.com', 'two', '-o', 'name'])).toBe(
      'gadget.e2e.example.com/two\n',
    );
    expect(await kubectl.ok(['get', 'toys', '-o', 'name'])).toBe(
      'gadget.e2e.example.com/one\ngadget.e2e.example.com/two\n',
    );
    const byFile = await kubectl.ok(['get', '-f', '-', '-o', 'name'], {
      stdin: documents(configMap('a'), gadget('one')),
    });
    expect(byFile).toBe('configmap/a\ngadget.e2e.example.com/one\n');
  });

  test('get prints the columns of a definition, and with -o wide those of low priority', async () => {
    expect(cells(await kubectl.ok(['get', 'gadgets']))).toEqual([
      ['NAME', 'COLOR', 'READY'],
      ['one', 'blue'],
      ['two', 'green'],
    ]);
    const wide = cells(await kubectl.ok(['get', 'gadgets', '-o', 'wide']));
    expect(wide[0]).toEqual(['NAME', 'COLOR', 'READY', 'REPLICAS']);
    expect(wide.slice(1).map((row) => row.at(-1))).toEqual(['2', '5']);
  });

  test('get -w prints what is there, then each change', async () => {
    await using watching = kubectl.start(['get', 'gadgets', '-w', '--output-watch-events', '--no-headers']);
    await watching.prints(/ADDED +two/);
    await kubectl.create(gadget('watched', { color: 'red' }));
    await watching.prints(/ADDED +watched +red/);
    await kubectl.ok(['patch', 'gadget', 'watched', '--type=merge', '-p', '{"spec":{"color":"blue"}}']);
    await watching.prints(/MODIFIED +watched +blue/);
    await kubectl.ok(['delete', 'gadget', 'watched']);
    await watching.prints(/DELETED +watched +blue/);
    const types = watching.stdout.split('\n').filter((line) => line.includes('watched'));
    expect(types.map((line) => line.split(' ')[0])).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  test('get -w -o json and --watch-only print whole objects', async () => {
    await using watching = kubectl.start([
      'get',
      'configmaps',
      '--watch-only',
      '-o',
      'jsonpath={.metadata.name}={.data.key}{"\\n"}',
    ]);
    // What was there before must not appear, so the watch is known to run only by a change.
    for (let i = 0; !watching.stdout.includes('later='); i++)
      await kubectl.apply(configMap('later', { key: `value-${i}` }));
    expect(watching.stdout).not.toContain('a=a');
    await kubectl.ok(['delete', 'cm', 'later']);
  });

  test('get --chunk-size pages through a list', async () => {
    const { stdout, stderr } = await kubectl.run(['get', 'cm', '--chunk-size=2', '-l', 'listed', '-o', 'name', '-v=6']);
    expect(stdout).toBe(['a', 'b', 'c', 'd', 'e'].map((name) => `configmap/${name}\n`).join(''));
    expect(stderr.match(/limit=2/g)?.length).toBeGreaterThanOrEqual(3);
    expect(stderr.match(/continue=/g)?.length).toBeGreaterThanOrEqual(2);
  });

  test('get -A prints the namespaces', async () => {
    const rows = cells(await kubectl.ok(['get', 'cm', '-A', '-l', 'listed']));
    expect(rows[0]?.slice(0, 3)).toEqual(['NAMESPACE', 'NAME', 'DATA']);
    expect(rows.slice(1).map(([namespace, name]) => `${namespace}/${name}`)).toEqual([
      'e2e/a',
      'e2e/b',
      'e2e/c',
      'e2e/d',
      'e2e/e',
      'other/elsewhere',
    ]);
  });

  test('get --show-labels and -L print labels', async () => {
    const rows = cells(await kubectl.ok(['get', 'cm', 'a', '--show-labels']));
    expect(rows[0]?.at(-1)).toBe('LABELS');
    expect(rows[1]?.at(-1)).toBe('app=first,listed=yes');
    expect(cells(await kubectl.ok(['get', 'cm', 'c', '-L', 'app']))[1]?.at(-1)).toBe('second');
  });

  test('get --field-selector chooses by name, namespace, type and by a selectable field of a definition', async () => {
    expect(await kubectl.ok(['get', 'cm', '--field-selector', 'metadata.name=b', '-o', 'name'])).toBe('configmap/b\n');
    expect(
      await kubectl.ok([
        'get',
        'cm',
        '-A',
        '--field-selector',
        'metadata.namespace=other,metadata.name!=kube-root-ca.crt',
        '-o',
        'name',
      ]),
    ).toBe('configmap/elsewhere\n');
    await kubectl.ok(['create', 'secret', 'generic', 'opaque']);
    expect(await kubectl.ok(['get', 'secrets', '--field-selector', 'type=Opaque', '-o', 'name'])).toBe(
      'secret/opaque\n',
    );
    expect(await kubectl.ok(['get', 'gadgets', '--field-selector', 'spec.color=green', '-o', 'name'])).toBe(
      'gadget.e2e.example.com/two\n',
    );
    expect(await kubectl.fails(['get', 'cm', '--field-selector', 'data.key=a'])).toContain(
      '"data.key" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
  });

  test('get -l chooses by equality, sets and existence', async () => {
    const named = (selector: string): Promise<string> =>
      kubectl.ok(['get', 'cm', '-l', selector, '-o', 'jsonpath={.items[*].metadata.name}']);
    expect(await named('app in (first, third),listed')).toBe('a b');
    expect(await named('app notin (first),listed')).toBe('c d e');
    expect(await named('app!=second,listed=yes')).toBe('a b');
    expect(await kubectl.fails(['get', 'cm', '-l', 'app in'])).toContain('unable to parse requirement');
  });

  test('get -o yaml, json, name, jsonpath, custom-columns, go-template and --sort-by', async () => {
    const yaml = await kubectl.ok(['get', 'cm', 'a', '-o', 'yaml']);
    expect(yaml).toMatch(/^apiVersion: v1\ndata:\n {2}key: a\n {2}more: "1"\nkind: ConfigMap\nmetadata:\n/);
    const object = await kubectl.json<{ kind: string; metadata: Record<string, unknown>; data: unknown }>([
      'get',
      'cm',
      'a',
    ]);
    expect(object).toMatchObject({
      kind: 'ConfigMap',
      data: { key: 'a', more: '1' },
      metadata: {
        name: 'a',
        namespace: 'e2e',
        uid: expect.any(String),
        resourceVersion: expect.stringMatching(/^\d+$/),
      },
    });
    const list = await kubectl.json<{ kind: string; items: { kind: string }[] }>(['get', 'cm', '-l', 'listed']);
    expect([list.kind, list.items.length, list.items[0]?.kind]).toEqual(['List', 5, 'ConfigMap']);
    expect(await kubectl.ok(['get', 'gadget', 'one', '-o', 'jsonpath={.spec.parts[?(@.name=="wheel")].size}'])).toBe(
      '3',
    );
    expect(
      await kubectl.ok(['get', 'gadgets', '-o', 'custom-columns=N:.metadata.name,C:.spec.color', '--no-headers']),
    ).toBe('one   blue\ntwo   green\n');
    expect(await kubectl.ok(['get', 'cm', 'a', '-o', 'go-template={{.data.key}}'])).toBe('a');
    expect(await kubectl.ok(['get', 'gadgets', '--sort-by=.spec.replicas', '-o', 'name'])).toBe(
      'gadget.e2e.example.com/one\ngadget.e2e.example.com/two\n',
    );
    expect(cells(await kubectl.ok(['get', 'gadgets', '--sort-by={.spec.color}'])).map(([name]) => name)).toEqual([
      'NAME',
      'one',
      'two',
    ]);
  });

  test('get of what is not there', async () => {
    expect(await kubectl.fails(['get', 'cm', 'nope'])).toBe(
      'Error from server (NotFound): configmaps "nope" not found\n',
    );
    expect(await kubectl.fails(['get', 'gadget', 'nope'])).toBe(
      'Error from server (NotFound): gadgets.e2e.example.com "nope" not found\n',
    );
    expect(await kubectl.ok(['get', 'cm', 'nope', '--ignore-not-found'])).toBe('');
    expect((await kubectl.run(['get', 'gadgets', '-n', 'other'])).stderr).toBe(
      'No resources found in other namespace.\n',
    );
  });

  test('pods, logs, exec, top and other kinds that a control plane has not', async () => {
    for (const args of [
      ['get', 'pods'],
      ['get', 'pod', 'x'],
      ['logs', 'x'],
      ['exec', 'x', '--', 'true'],
      ['get', 'nodes'],
      ['get', 'services'],
    ]) {
      expect(await kubectl.fails(args)).toMatch(
        /^error: the server doesn't have a resource type "(pods?|nodes|services)"\n$/,
      );
    }
    expect(await kubectl.fails(['top', 'node'])).toMatch(/Metrics API not available/);
    expect(await kubectl.fails(['drain', 'x'])).toMatch(
      /the server (doesn't have a resource type "nodes?"|could not find the requested resource)/,
    );
  });

  test('explain of a built-in kind', async () => {
    const text = await kubectl.ok(['explain', 'configmaps']);
    expect(text).toMatch(/^KIND: +ConfigMap\nVERSION: +v1\n/);
    for (const field of ['apiVersion', 'binaryData', 'data', 'immutable', 'kind', 'metadata'])
      expect(text).toMatch(new RegExp(`^  ${field}\\t<`, 'm'));
    expect(await kubectl.ok(['explain', 'ns.spec.finalizers'])).toMatch(/FIELD: finalizers <\[\]string>/);
    expect(await kubectl.ok(['explain', 'clusterrolebindings.roleRef'])).toMatch(/^ {2}name\t<string> -required-/m);
    expect(await kubectl.ok(['explain', 'crd', '--recursive'])).toMatch(
      /^ {4}names\t<CustomResourceDefinitionNames> -required-\n {6}categories\t<\[\]string>/m,
    );
    expect(await kubectl.fails(['explain', 'configmap.nope'])).toContain('field "nope" does not exist');
  });

  test.each(['plaintext', 'plaintext-openapiv2'])('explain of the kinds of kcp, as %s', async (output) => {
    const explain = (...fields: string[]) => kubectl.ok(['explain', ...fields, `--output=${output}`]);
    expect(await explain('apibinding')).toMatch(/DESCRIPTION:\n +Binds the APIs of an APIExport, so that this/);
    expect(await explain('apibinding.spec.permissionClaims.state')).toMatch(/Accepted: the provider gets access\./);
    expect(await explain('apibinding.status.conditions.reason')).toMatch(/The cause, in one word\./);
    expect(await explain('workspaces.spec.type.path')).toMatch(/Path of the workspace with the WorkspaceType\./);
  });

  test('explain of a definition', async () => {
    expect(await kubectl.ok(['explain', 'gadgets'])).toMatch(
      /^GROUP: +e2e\.example\.com\nKIND: +Gadget\nVERSION: +v1\n\nDESCRIPTION:\n {4}A gadget of the test\.\n/,
    );
    const spec = await kubectl.ok(['explain', 'gadget.spec']);
    expect(spec).toMatch(/FIELD: spec <Object>/);
    expect(spec).toMatch(/^ {2}color\t<string>\n(.*\n)* {4}Its colour\./m);
    expect(spec).toMatch(/enum: red, green, blue/);
    expect(await kubectl.ok(['explain', 'gadget.spec.parts', '--recursive'])).toMatch(
      /FIELD: parts <\[\]Object>(.*\n)*FIELDS:\n {2}name\t<string> -required-\n {2}size\t<integer>/,
    );
    expect(await kubectl.ok(['explain', 'gadget.metadata.labels'])).toMatch(/FIELD: labels <map\[string\]string>/);
    expect(await kubectl.ok(['explain', 'gadgets', '--api-version=e2e.example.com/v1', '--recursive'])).toMatch(
      /^ {2}status\t<Object>\n {4}conditions\t<\[\]Object>\n/m,
    );
  });

  test('explain --recursive tells resources of the same plural in two groups apart', async () => {
    const twin = (group: string, field: string) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `twins.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'twins', kind: 'Twin' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: { type: 'object', properties: { [field]: { type: 'array', items: { type: 'integer' } } } },
                },
              },
            },
          },
        ],
      },
    });
    await kubectl.create(twin('one.example.com', 'first'), twin('two.example.com', 'second'));
    await kubectl.ok(['wait', 'crd', '--all', '--for=condition=Established']);
    for (const [group, field] of [
      ['one.example.com', 'first'],
      ['two.example.com', 'second'],
    ] as const) {
      const text = await kubectl.ok(['explain', `twins.${group}.spec`, '--recursive']);
      expect(text).toMatch(new RegExp(`^GROUP: +${group}$`, 'm'));
      expect(text).toContain(`FIELDS:\n  ${field}\t<[]integer>`);
    }
    await kubectl.ok(['delete', 'crd', 'twins.one.example.com', 'twins.two.example.com']);
  });

  test('explain out of the OpenAPI v2 that older clients use', async () => {
    expect(await kubectl.ok(['explain', 'configmaps', '--output=plaintext-openapiv2'])).toMatch(
      /^KIND: +ConfigMap\nVERSION: +v1\n(.*\n)*FIELDS:\n(.*\n)* {3}data\t<map\[string\]string>/,
    );
    const text = await kubectl.ok(['explain', 'gadget.spec', '--output=plaintext-openapiv2']);
    expect(text).toMatch(/RESOURCE: spec <Object>\n(.*\n)* {3}color\t<string>\n {5}Its colour\./);
  });

  test('api-resources', async () => {
    const rows = cells(await kubectl.ok(['api-resources']));
    expect(rows[0]).toEqual(['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND']);
    for (const row of [
      ['configmaps', 'cm', 'v1', 'true', 'ConfigMap'],
      ['namespaces', 'ns', 'v1', 'false', 'Namespace'],
      ['customresourcedefinitions', 'crd,crds', 'apiextensions.k8s.io/v1', 'false', 'CustomResourceDefinition'],
      ['gadgets', 'gd', 'e2e.example.com/v1', 'true', 'Gadget'],
      ['leases', 'coordination.k8s.io/v1', 'true', 'Lease'],
    ]) {
      expect(rows).toContainEqual(row);
    }
    expect(await kubectl.ok(['api-resources', '--api-group=e2e.example.com', '-o', 'name'])).toBe(
      'gadgets.e2e.example.com\n',
    );
    expect((await kubectl.ok(['api-resources', '--namespaced=false', '-o', 'name'])).split('\n')).toContain(
      'clusterroles.rbac.authorization.k8s.io',
    );
    expect(await kubectl.ok(['api-resources', '--categories=toys', '-o', 'name'])).toBe('gadgets.e2e.example.com\n');
    expect(
      cells(await kubectl.ok(['api-resources', '--api-group=e2e.example.com', '-o', 'wide', '--no-headers']))[0],
    ).toEqual([
      'gadgets',
      'gd',
      'e2e.example.com/v1',
      'true',
      'Gadget',
      'delete,deletecollection,get,list,patch,create,update,watch',
      'toys',
    ]);
    const withoutStorage = await kubectl.ok([
      'api-resources',
      '--verbs=create',
      '--api-group=authentication.k8s.io',
      '-o',
      'name',
    ]);
    expect(withoutStorage.split('\n')).toContain('selfsubjectreviews.authentication.k8s.io');
  });

  test('api-versions', async () => {
    const versions = (await kubectl.ok(['api-versions'])).trim().split('\n');
    expect(versions).toEqual(
      expect.arrayContaining([
        'v1',
        'e2e.example.com/v1',
        'apiextensions.k8s.io/v1',
        'rbac.authorization.k8s.io/v1',
        'events.k8s.io/v1',
      ]),
    );
    expect(versions).toEqual([...versions].sort());
  });
});
