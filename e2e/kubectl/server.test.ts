import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { configMap, defineGadgets, gadget, gadgetDefinition } from '../fixtures/gadgets.ts';
import { cells, describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

describeWithKubectl('kubectl asks the server and shows what happened', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    await defineGadgets(kubectl);
    await kubectl.create(gadget('one', { color: 'blue' }, { labels: { app: 'x' } }));
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('version', async () => {
    expect(await kubectl.ok(['version'])).toMatch(/^Server Version: v1\.36\.\d+\+multiplane-/m);
    const { serverVersion } = await kubectl.json<{ serverVersion: Record<string, string> }>(['version']);
    expect(serverVersion).toMatchObject({
      major: '1',
      minor: '36',
      gitVersion: expect.stringMatching(/^v1\.36\.\d+\+multiplane-\d/),
    });
  });

  test('cluster-info says that there are no services', async () => {
    expect(await kubectl.fails(['cluster-info'])).toContain('the server doesn\'t have a resource type "services"');
  });

  test('get --raw /readyz?verbose and the other health endpoints', async () => {
    const text = await kubectl.ok(['get', '--raw', '/readyz?verbose']);
    expect(text).toMatch(/^\[\+\]ping ok\n/);
    expect(text).toMatch(/\nreadyz check passed\n$/);
    expect(await kubectl.ok(['get', '--raw', '/livez?verbose'])).toMatch(/\nlivez check passed\n$/);
    expect(await kubectl.ok(['get', '--raw', '/healthz'])).toBe('ok');
    const excluded = await kubectl.ok(['get', '--raw', '/readyz?verbose&exclude=ping']);
    expect(excluded).toContain('[+]ping excluded: ok\n');
  });

  /** Where a raw path begins: older kubectl takes it from the root of the server, newer one from the path of its URL. */
  async function rawRoot(): Promise<string> {
    const root = `/clusters/${workspace.path}`;
    return (await kubectl.run(['get', '--raw', `${root}/api`])).code === 0 ? root : '';
  }

  test('get --raw and create --raw reach any path', async () => {
    const path = await rawRoot();
    expect(JSON.parse(await kubectl.ok(['get', '--raw', `${path}/api`]))).toMatchObject({
      kind: 'APIVersions',
      versions: ['v1'],
    });
    const created = JSON.parse(
      await kubectl.ok(['create', '--raw', `${path}/api/v1/namespaces/e2e/configmaps`, '-f', '-'], {
        stdin: JSON.stringify(configMap('raw', { a: 'b' })),
      }),
    ) as { data: unknown };
    expect(created.data).toEqual({ a: 'b' });
    expect(
      JSON.parse(await kubectl.ok(['delete', '--raw', `${path}/api/v1/namespaces/e2e/configmaps/raw`])),
    ).toMatchObject({ status: 'Success' });
  });

  test('events and get events', async () => {
    const uid = await kubectl.ok(['get', 'gadget', 'one', '-o', 'jsonpath={.metadata.uid}']);
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const event = (name: string, reason: string, type: string): Record<string, unknown> => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: 'e2e' },
      involvedObject: { apiVersion: 'e2e.example.com/v1', kind: 'Gadget', name: 'one', namespace: 'e2e', uid },
      reason,
      message: `about ${reason}`,
      type,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component: 'e2e' },
    });
    await kubectl.create(event('one.1', 'Painted', 'Normal'), event('one.2', 'Broken', 'Warning'));
    const rows = cells(await kubectl.ok(['events']));
    expect(rows[0]).toEqual(['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE']);
    expect(rows.slice(1).map(([, ...rest]) => rest)).toEqual(
      expect.arrayContaining([
        ['Normal', 'Painted', 'Gadget/one', 'about Painted'],
        ['Warning', 'Broken', 'Gadget/one', 'about Broken'],
      ]),
    );
    expect(await kubectl.ok(['events', '--for', 'gadget/one', '--types=Warning', '--no-headers'])).toMatch(
      /Warning +Broken +Gadget\/one/,
    );
    expect((await kubectl.run(['events', '--for', 'gadget/other'])).stderr).toContain('No events found');
    const listed = cells(await kubectl.ok(['get', 'events', '--field-selector', 'type=Warning']));
    expect(listed).toEqual([
      ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
      [expect.any(String), 'Warning', 'Broken', 'gadget/one', 'about Broken'],
    ]);
    expect(
      await kubectl.ok(['get', 'events.events.k8s.io', '-o', 'jsonpath={.items[?(@.reason=="Broken")].note}']),
    ).toBe('about Broken');
  });

  test('describe of built-in kinds and of a custom resource with its events', async () => {
    await kubectl.create(configMap('described', { text: 'hello\nworld' }, { annotations: { note: 'n' } }));
    expect(await kubectl.ok(['describe', 'cm', 'described'])).toMatch(
      /^Name: +described\nNamespace: +e2e\n(.*\n)*Data\n====\ntext:\n----\nhello\nworld\n/,
    );
    expect(await kubectl.ok(['describe', 'ns', 'e2e'])).toMatch(/^Name: +e2e\n(.*\n)*Status: +Active\n/);
    await kubectl.ok(['create', 'role', 'reader', '--verb=get,list', '--resource=configmaps']);
    expect(await kubectl.ok(['describe', 'role', 'reader'])).toMatch(/configmaps +\[\] +\[\] +\[get list\]/);
    const text = await kubectl.ok(['describe', 'gadget', 'one']);
    expect(text).toMatch(
      /^Name: +one\nNamespace: +e2e\nLabels: +app=x\n(.*\n)*API Version: +e2e\.example\.com\/v1\nKind: +Gadget\n(.*\n)*Spec:\n {2}Color: +blue\n/,
    );
    expect(text).toMatch(/Events:\n(.*\n)* +Normal +Painted /);
    expect(await kubectl.ok(['describe', 'crd', 'gadgets.e2e.example.com'])).toMatch(/Short Names:\n +gd\n/);
    expect(await kubectl.fails(['describe', 'cm', 'nope'])).toBe(
      'Error from server (NotFound): configmaps "nope" not found\n',
    );
  });

  test('proxy hands requests and watches on with the rights of its user', async () => {
    await using proxy = kubectl.start(['proxy', '--port=0', '--append-server-path']);
    await proxy.prints(/Starting to serve on 127\.0\.0\.1:\d+/);
    const base = `http://${/127\.0\.0\.1:\d+/.exec(proxy.stdout)?.[0]}`;
    expect(await (await fetch(`${base}/api`)).json()).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const aborted = new AbortController();
    const watch = await fetch(`${base}/api/v1/namespaces/e2e/configmaps?watch=1`, { signal: aborted.signal });
    const reader = (watch.body as ReadableStream<Uint8Array>).getReader();
    const created = kubectl.create(configMap('through-the-proxy'));
    let text = '';
    while (!text.includes('through-the-proxy')) {
      const { value, done } = await reader.read();
      if (done) break;
      text += Buffer.from(value).toString();
    }
    aborted.abort();
    await created;
    expect(text).toMatch(/^\{"type":"ADDED","object":\{.*"name":"through-the-proxy"/m);
  });

  test('discovery is cached by kubectl and answered with 304 when nothing changed', async () => {
    await kubectl.ok(['api-versions']);
    const { stderr } = await kubectl.run(['api-resources', '--cached=false', '-v=8']);
    expect(stderr).toMatch(/304 Not Modified|Response Status: 200 OK|status="(304 Not Modified|200 OK)"/);
    expect(await kubectl.ok(['get', '--raw', `${await rawRoot()}/openapi/v3`])).toContain(
      '/openapi/v3/apis/e2e.example.com/v1?hash=',
    );
  });

  test('a definition that is deleted takes its objects, its resource and its documentation along', async () => {
    const definition = structuredClone(gadgetDefinition) as unknown as {
      metadata: { name: string };
      spec: { names: Record<string, unknown> };
    };
    definition.metadata.name = 'gizmos.e2e.example.com';
    definition.spec.names = { plural: 'gizmos', singular: 'gizmo', kind: 'Gizmo', listKind: 'GizmoList' };
    await kubectl.create(definition);
    await kubectl.ok(['wait', '--for=condition=Established', 'crd/gizmos.e2e.example.com', '--timeout=10s']);
    await kubectl.create({ ...gadget('gone'), kind: 'Gizmo' });
    expect(await kubectl.ok(['delete', 'crd', 'gizmos.e2e.example.com'])).toBe(
      'customresourcedefinition.apiextensions.k8s.io "gizmos.e2e.example.com" deleted\n',
    );
    // Asks afresh, where other commands trust what they learned before.
    expect(await kubectl.ok(['api-resources', '--api-group=e2e.example.com', '-o', 'name'])).toBe(
      'gadgets.e2e.example.com\n',
    );
    expect(await kubectl.fails(['get', 'gizmos'])).toContain('the server doesn\'t have a resource type "gizmos"');
    await kubectl.create(definition);
    await kubectl.ok(['wait', '--for=condition=Established', 'crd/gizmos.e2e.example.com', '--timeout=10s']);
    expect((await kubectl.run(['get', 'gizmos'])).stderr).toBe('No resources found in e2e namespace.\n');
  });
});
