import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mastersGroup, type JsonObject } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  claimLabelValue,
  exportLabelValue,
  reflexiveClaimLabelValue,
  type AcceptablePermissionClaim,
  type PermissionClaim,
} from '@multiplane/apis';
import { eventually, turnsDuring } from '@multiplane/testing';
import { answerConfigMap } from '../../test/answer-config-map.ts';
import { FakeShard } from '../../test/fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from '../../test/shared-apis.ts';

const view = '/services/apiexport/provider/things/clusters';
const widgets = 'apis/example.dev/v1/widgets';
const configmaps: PermissionClaim = { group: '', resource: 'configmaps', verbs: ['*'] };
const claimLabel = `claimed.internal.apis.kcp.io/${exportLabelValue('provider', 'things')}`;
const withheldLabel = `withheld.internal.apis.kcp.io/${exportLabelValue('provider', 'things')}`;
const accepted = (
  claim: PermissionClaim,
  more: Partial<AcceptablePermissionClaim> = {},
): AcceptablePermissionClaim => ({
  ...claim,
  state: 'Accepted',
  selector: { matchAll: true },
  ...more,
});

let shard: FakeShard;
beforeEach(() => {
  shard = new FakeShard();
  shard.informer(apiResourceSchemas).put(schemaOf());
  shard.informer(apiExports).put(exportOf());
  shard.informer(apiBindings).put(bindingOf());
});
afterEach(() => shard.close());

const bodyOf = async (url: string): Promise<JsonObject> =>
  JSON.parse((await shard.send(`${view}/${url}`)).body.toString()) as JsonObject;
const statusOf = async (
  url: string,
  method = 'GET',
  headers: Record<string, string> = {},
  body = '',
): Promise<number> => (await shard.send(`${view}/${url}`, { method, headers, body })).status;

describe('the API set of an export', () => {
  test('contains its resources with status and scale, and its bindings read-only', async () => {
    const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' };
    shard.informer(apiResourceSchemas).put(schemaOf({ subresources: { status: {}, scale } }));
    expect(await bodyOf('*/apis/example.dev/v1')).toMatchObject({
      kind: 'APIResourceList',
      resources: [
        { name: 'widgets', kind: 'Widget', namespaced: true },
        { name: 'widgets/scale', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
        { name: 'widgets/status', verbs: ['get', 'patch', 'update'] },
      ],
    });
    for (const version of ['v1alpha1', 'v1alpha2'])
      expect((await bodyOf(`consumer/apis/apis.kcp.io/${version}`))['resources']).toMatchObject([
        { name: 'apibindings', verbs: ['get', 'list', 'watch'] },
        // kcp lists the status once for each version.
        { name: 'apibindings/status', verbs: null },
        { name: 'apibindings/status', verbs: null },
      ]);
    expect(await statusOf('*/api/v1')).toBe(404);
  });

  test('contains virtual resources with the verbs that consumers have', async () => {
    const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'widgets' };
    const exported = { name: 'widgets', group: 'example.dev', schema: 'v1.widgets.example.dev' };
    const storedIn = { virtual: { reference, identityHash: 'cafe' } };
    shard.informer(apiExports).put(exportOf({ resources: [{ ...exported, storage: storedIn }] }));
    expect(await bodyOf('*/apis/example.dev/v1')).toMatchObject({
      resources: [
        { name: 'widgets', verbs: ['get', 'list', 'watch'] },
        { name: 'widgets/status', verbs: ['get'] },
      ],
    });
    const refused = await shard.send(`${view}/consumer/apis/example.dev/v1/namespaces/default/widgets`, {
      method: 'POST',
      body: '{}',
    });
    expect([refused.status, refused.body.toString()]).toEqual([
      405,
      expect.stringContaining('the resource is read-only and comes from APIExport provider:things'),
    ]);
    const ofProvider = { ...reference, apiGroup: 'example.io', kind: 'WidgetSlice' };
    const other = { virtual: { reference: ofProvider, identityHash: '' } };
    shard.informer(apiExports).put(exportOf({ resources: [{ ...exported, storage: other }] }));
    const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
    expect(await bodyOf('*/apis/example.dev/v1')).toMatchObject({ resources: [{ verbs }, {}] });
  });

  test('is served as aggregated discovery', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { body } = await shard.send(`${view}/*/apis`, { headers: { accept } });
    const { items } = JSON.parse(body.toString()) as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['apis.kcp.io', 'example.dev']);
    const { paths } = (await bodyOf('*/openapi/v3')) as { paths: object };
    // What kcp lists, the documents of groups and of the server included.
    expect(Object.keys(paths).sort()).toEqual([
      'api',
      'apis',
      'apis/apis.kcp.io',
      'apis/apis.kcp.io/v1alpha1',
      'apis/apis.kcp.io/v1alpha2',
      'apis/example.dev',
      'apis/example.dev/v1',
      'version',
    ]);
  });

  test('contains claimed built-in kinds, and those of other exports by identity', async () => {
    shard.informer(apiResourceSchemas).put(schemaOf({ cluster: 'other', plural: 'parts', kind: 'Part' }));
    const parts = { resources: [{ name: 'parts', group: 'example.dev', schema: 'v1.parts.example.dev' }] };
    shard.informer(apiExports).put(exportOf(parts, { cluster: 'other', name: 'parts', identity: 'id2' }));
    const claims: PermissionClaim[] = [
      configmaps,
      { group: '', resource: 'events', verbs: ['*'] },
      { group: '', resource: 'limitranges', verbs: ['*'] },
      { group: '', resource: 'serviceaccounts', verbs: ['*'] },
      { group: 'authentication.k8s.io', resource: 'tokenreviews', verbs: ['*'] },
      { group: 'apis.kcp.io', resource: 'apiexports', verbs: ['get'] },
      { group: 'example.dev', resource: 'parts', verbs: ['*'], identityHash: 'id2' },
      { group: 'example.dev', resource: 'parts', verbs: ['*'], identityHash: 'unknown' },
      { group: 'example.dev', resource: 'gadgets', verbs: ['*'] },
    ];
    shard.informer(apiExports).put(exportOf({ permissionClaims: claims }));
    const namesIn = async (path: string): Promise<string[]> =>
      ((await bodyOf(path))['resources'] as { name: string }[]).map(({ name }) => name);
    expect(await namesIn('*/api/v1')).toEqual(['configmaps', 'events', 'limitranges', 'serviceaccounts']);
    expect(await namesIn('*/apis/authentication.k8s.io/v1')).toEqual(['tokenreviews']);
    expect(JSON.stringify(await bodyOf('*/api/v1'))).not.toContain('shortNames');
    expect(await namesIn('*/apis/events.k8s.io/v1')).toEqual(['events']);
    expect(await namesIn('*/apis/apis.kcp.io/v1alpha2')).toContain('apiexports');
    expect(await namesIn('*/apis/example.dev/v1')).toEqual(['parts', 'parts/status', 'widgets', 'widgets/status']);
    await shard.send(`${view}/*/apis/example.dev/v1/parts`);
    expect(shard.lines.at(-1)).toMatch(/^GET \/clusters\/\*\/apis\/example\.dev\/v1\/parts:id2\?labelSelector=/);
  });

  test('is built in time slices', async () => {
    const plurals = Array.from({ length: 500 }, (_, index) => `kind${index}s`);
    for (const plural of plurals)
      shard.informer(apiResourceSchemas).put(schemaOf({ plural, kind: plural.slice(0, -1) }));
    const resources = plurals.map((name) => ({ name, group: 'example.dev', schema: `v1.${name}.example.dev` }));
    shard.informer(apiExports).put(exportOf({ resources }));
    const { turns, result } = await turnsDuring(() => statusOf('*/apis/example.dev/v1/kind499s'));
    expect(result).toBe(200);
    expect(turns).toBeGreaterThan(2);
  });

  test('is empty until the export has an identity', async () => {
    shard.informer(apiExports).put(exportOf({}, { identity: '' }));
    expect(await statusOf(`*/${widgets}`)).toBe(404);
    shard.informer(apiExports).put(exportOf());
    expect(await statusOf(`*/${widgets}`)).toBe(200);
  });

  test('follows the export, its schemas and the exports whose resources it claims', async () => {
    expect(await statusOf(`*/${widgets}`)).toBe(200);
    shard.informer(apiResourceSchemas).remove(schemaOf());
    expect(await statusOf(`*/${widgets}`)).toBe(404);
    shard.informer(apiResourceSchemas).put(schemaOf());
    expect(await statusOf(`*/${widgets}`)).toBe(200);
    const parts: PermissionClaim = { group: 'example.dev', resource: 'parts', verbs: ['*'], identityHash: 'id2' };
    shard.informer(apiExports).put(exportOf({ permissionClaims: [parts] }));
    expect(await statusOf('*/apis/example.dev/v1/parts')).toBe(403);
    shard.informer(apiResourceSchemas).put(schemaOf({ cluster: 'other', plural: 'parts', kind: 'Part' }));
    const resources = [{ name: 'parts', group: 'example.dev', schema: 'v1.parts.example.dev' }];
    shard.informer(apiExports).put(exportOf({ resources }, { cluster: 'other', name: 'parts', identity: 'id2' }));
    expect(await statusOf('*/apis/example.dev/v1/parts')).toBe(200);
    shard.informer(apiExports).put(exportOf({ permissionClaims: [] }));
    expect(await statusOf('*/apis/example.dev/v1/parts')).toBe(404);
  });
});

describe('open watches', () => {
  /** Opens a watch; returns whether it ended. */
  function watch(path: string): { ended: () => boolean; answer: Promise<unknown> } {
    let ended = false;
    shard.answer = ({ exchange }) => {
      exchange.start(200);
      return new Promise((resolve) => exchange.signal.addEventListener('abort', () => resolve()));
    };
    const answer = shard.send(`${view}/${path}?watch=1`).then(() => (ended = true));
    return { ended: () => ended, answer };
  }

  /** Waits until the shard serves this many watches: a virtual workspace converts schemas in several time slices before. */
  const opened = (count: number): Promise<void> => eventually(() => expect(shard.requests).toHaveLength(count));

  test('end when the schema changes', async () => {
    const one = watch(`*/${widgets}`);
    const other = watch('*/apis/apis.kcp.io/v1alpha2/apibindings');
    await opened(2);
    shard.informer(apiResourceSchemas).put(schemaOf({ uid: 'another' }));
    await one.answer;
    expect([one.ended(), other.ended()]).toEqual([true, false]);
  });

  test('end when a claim changes', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    const claimed = watch('*/api/v1/configmaps');
    const own = watch(`*/${widgets}`);
    await opened(2);
    shard.informer(apiExports).put(exportOf({ permissionClaims: [{ ...configmaps, verbs: ['list', 'watch'] }] }));
    await claimed.answer;
    expect([claimed.ended(), own.ended()]).toEqual([true, false]);
  });

  test('end when the export is deleted', async () => {
    const one = watch(`*/${widgets}`);
    await opened(1);
    shard.informer(apiExports).remove(exportOf());
    await one.answer;
    expect(one.ended()).toBe(true);
  });

  test('stay open when their resource is unchanged', async () => {
    const one = watch(`*/${widgets}`);
    await opened(1);
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    shard.informer(apiResourceSchemas).put(schemaOf());
    expect(await statusOf('*/api/v1')).toBe(200);
    expect(one.ended()).toBe(false);
    shard.informer(apiExports).remove(exportOf());
    await one.answer;
  });
});

describe('across all logical clusters', () => {
  test('requests name the identity of the export and use system rights', async () => {
    await shard.send(`${view}/*/${widgets}?limit=5`);
    expect(shard.lines).toEqual(['GET /clusters/*/apis/example.dev/v1/widgets:id1?limit=5']);
    expect(shard.requests[0]?.user).toMatchObject({ name: 'system:virtual-workspaces', groups: [mastersGroup] });
  });

  test('requests select accepted claims, except those withheld from the verb (kcp v0.32 shows them)', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    await shard.send(`${view}/*/api/v1/configmaps?labelSelector=a%20in%20(b`);
    await shard.send(`${view}/*/api/v1/configmaps?watch=true`);
    const claimed = `${claimLabel} in (${claimLabelValue(configmaps)})`;
    expect(shard.lines.map((line) => line.replaceAll('+', ' '))).toEqual([
      `GET /clusters/*/api/v1/configmaps?labelSelector=${claimed},${withheldLabel} notin (list,list.watch),a in (b&virtualView=kinds`,
      `GET /clusters/*/api/v1/configmaps?watch=true&labelSelector=${claimed},${withheldLabel} notin (watch,list.watch)`,
    ]);
  });

  test('denies verbs that the export does not claim', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [{ ...configmaps, verbs: ['get', 'list'] }] }));
    expect(await statusOf('*/api/v1/configmaps')).toBe(200);
    expect(await statusOf('*/api/v1/configmaps?watch=1')).toBe(403);
  });

  test('selects bindings of the export, and others if it claims bindings', async () => {
    await shard.send(`${view}/*/apis/apis.kcp.io/v1alpha2/apibindings`);
    const claim = { group: 'apis.kcp.io', resource: 'apibindings', verbs: ['list'] };
    shard.informer(apiExports).put(exportOf({ permissionClaims: [claim] }));
    await shard.send(`${view}/*/apis/apis.kcp.io/v1alpha2/apibindings`);
    await shard.send(`${view}/*/apis/apis.kcp.io/v1alpha2/apibindings?watch=1`);
    const own = `internal.apis.kcp.io/export=${exportLabelValue('provider', 'things')}`;
    expect(shard.lines.map((line) => line.replaceAll('+', ' ').slice(line.indexOf('labelSelector')))).toEqual([
      `labelSelector=${own}`,
      `labelSelector=${claimLabel} in (${claimLabelValue(claim)},${reflexiveClaimLabelValue}),${withheldLabel} notin (list,list.watch)`,
      `labelSelector=${own}`,
    ]);
  });

  test('does not serve the identity of another export in any spelling', async () => {
    for (const resource of ['widgets:id2', 'widgets%3Aid2', 'widgets:', 'parts:id2', 'widgets:id1'])
      expect([resource, await statusOf(`*/apis/example.dev/v1/${resource}`)]).toEqual([resource, 404]);
    for (const path of ['consumer/apis/example.dev/v1/widgets:id2', '*/apis/example.dev/v1/widgets/../parts:id2'])
      expect(await statusOf(path)).toBeGreaterThanOrEqual(400);
    expect(shard.lines).toEqual([]);
  });

  test('serves no single objects', async () => {
    expect(await statusOf('*/apis/example.dev/v1/namespaces/default/widgets/one')).toBe(404);
    expect(await statusOf('*/apis/example.dev/v1/namespaces/default/widgets', 'POST', {}, '{}')).toBe(400);
    const widget = '{"apiVersion":"example.dev/v1","kind":"Widget","metadata":{"name":"one"}}';
    expect(await statusOf('*/apis/example.dev/v1/namespaces/default/widgets', 'POST', {}, widget)).toBe(404);
    expect(await statusOf('*/apis/example.dev/v1/namespaces/default/widgets')).toBe(400);
    const elsewhere = widget.replace('"one"', '"one","namespace":"other"');
    expect(await statusOf('*/apis/example.dev/v1/namespaces/default/widgets', 'POST', {}, elsewhere)).toBe(400);
    const one = '*/apis/example.dev/v1/namespaces/default/widgets/one';
    expect(await statusOf(one, 'PUT', {}, widget.replace('one', 'two'))).toBe(400);
    expect(await statusOf(one, 'PUT', {}, widget)).toBe(404);
    expect(await statusOf(one, 'DELETE', {}, 'x')).toBe(400);
    expect(await statusOf(one, 'DELETE')).toBe(404);
    expect(shard.lines).toEqual([]);
  });

  test('checks the options and the media types of a collection before its namespace', async () => {
    const all = '*/apis/example.dev/v1/namespaces/default/widgets';
    expect(await statusOf(`${all}?labelSelector=x%20y`, 'DELETE')).toBe(400);
    expect(await statusOf(all, 'DELETE', {}, 'x')).toBe(400);
    expect(await statusOf(all, 'DELETE')).toBe(404);
    expect(await statusOf(all, 'GET', { accept: 'text/plain' })).toBe(406);
    expect(await statusOf(`${all}?resourceVersionMatch=Exact`)).toBe(422);
    expect(shard.lines).toEqual([]);
  });
});

describe('in one logical cluster', () => {
  test('requests are sent as the caller with a warrant', async () => {
    await shard.send(`${view}/consumer/apis/example.dev/v1/namespaces/default/widgets/one`);
    expect(shard.lines).toEqual(['GET /clusters/consumer/apis/example.dev/v1/namespaces/default/widgets:id1/one']);
    const { user } = shard.requests[0]!;
    expect(user).toMatchObject({ name: 'ann', uid: '7', groups: ['system:authenticated'] });
    expect(user.extra['authorization.kcp.io/warrant']?.map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        user: 'system:serviceaccount:default:rest',
        groups: ['system:kcp:admin', 'system:kcp:apiexport:provider:things'],
        extra: { 'authentication.kcp.io/cluster-name': ['consumer'] },
      },
    ]);
  });

  test('forwards every verb and patch type unchanged', async () => {
    const one = 'consumer/apis/example.dev/v1/namespaces/default/widgets/one';
    for (const [method, path] of [
      ['PUT', one],
      ['PATCH', one],
      ['DELETE', one],
      ['PATCH', `${one}/status`],
      ['DELETE', 'consumer/apis/example.dev/v1/namespaces/default/widgets'],
      ['POST', 'consumer/apis/example.dev/v1/namespaces/default/widgets'],
    ] as const)
      expect(await statusOf(path, method, { 'content-type': 'application/merge-patch+json' }, '{}')).toBe(200);
    expect(shard.requests.map(({ method }) => method)).toEqual(['PUT', 'PATCH', 'DELETE', 'PATCH', 'DELETE', 'POST']);
  });

  test('returns 404 for an object without the label of the claim', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps)] }));
    let labels: Record<string, string> = {};
    shard.answer = (dispatched) => answerConfigMap(dispatched, labels);
    const one = 'consumer/api/v1/namespaces/default/configmaps/one';
    for (const method of ['GET', 'DELETE'])
      expect([method, await statusOf(one, method, {}, '{}')]).toEqual([method, 404]);
    const update = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}';
    expect(await statusOf(one, 'PUT', {}, update)).toBe(404);
    labels = { [claimLabel]: claimLabelValue(configmaps) };
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect([method, await statusOf(one, method, {}, '{}')]).toEqual([method, 200]);
  });

  test('an open watch follows the verbs that the consumer accepts', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps)] }));
    await shard.send(`${view}/consumer/api/v1/configmaps?watch=1`);
    expect(shard.lines[0]?.replaceAll('+', ' ')).toContain(`,${withheldLabel} notin (watch,list.watch)`);
  });

  test('adds the labels of the claim selector to written objects', async () => {
    const selector = { matchLabels: { share: 'yes' } };
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps, { selector })] }));
    const sent: string[] = [];
    shard.answer = async ({ exchange }) => {
      sent.push((await exchange.readBody(1_000)).toString());
      exchange.respond(201, '{}');
    };
    const all = 'consumer/api/v1/namespaces/default/configmaps';
    expect(await statusOf(all, 'POST', {}, '{"metadata":{"name":"made"}}')).toBe(201);
    expect(await statusOf(`${all}/other`, 'POST', {}, '{"metadata":{"name":"made"}}')).toBe(400);
    const head = { apiVersion: 'v1', kind: 'ConfigMap' };
    const made = JSON.stringify({ ...head, metadata: { name: 'made' } });
    expect(await statusOf(all, 'POST', {}, made)).toBe(201);
    // The name in a path is ignored.
    expect(await statusOf(`${all}/other`, 'POST', {}, made)).toBe(201);
    const labelled = { ...head, metadata: { name: 'made', labels: { share: 'yes' } } };
    expect(sent.slice(1).map((text) => JSON.parse(text) as unknown)).toEqual([labelled, labelled]);
    const target = 'POST /clusters/consumer/api/v1/namespaces/default/configmaps';
    expect(shard.lines).toEqual([target, target, target]);
    const refused = await shard.send(`${view}/${all}`, {
      method: 'POST',
      body: JSON.stringify({ ...head, metadata: { name: 'refused', labels: { share: 'no' } } }),
    });
    expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([
      403,
      { message: 'configmaps "refused" is forbidden: protected label share must have value yes' },
    ]);
  });

  test('checks the body of an update before it looks for the object', async () => {
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    const selector = { matchLabels: { share: 'yes' } };
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps, { selector })] }));
    shard.answer = (request) => answerConfigMap(request, {});
    const one = 'consumer/api/v1/namespaces/default/configmaps/one';
    const update = (metadata: JsonObject): string => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    expect(await statusOf(one, 'PUT', {}, update({ name: 'one' }))).toBe(404);
    expect(await statusOf(one, 'PUT', {}, update({ name: 'two' }))).toBe(400);
    expect(await statusOf(one, 'PUT', {}, '{}')).toBe(400);
    expect(await statusOf(one, 'PUT', { 'content-type': 'text/plain' }, update({ name: 'one' }))).toBe(415);
  });

  test('lets the shard decode protobuf bodies', async () => {
    const selector = { matchLabels: { share: 'yes' } };
    shard.informer(apiExports).put(exportOf({ permissionClaims: [configmaps] }));
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps, { selector })] }));
    const sent: string[] = [];
    shard.answer = async ({ exchange }) => {
      sent.push((await exchange.readBody(1_000)).toString());
      exchange.respond(
        201,
        '{"kind":"ConfigMap","metadata":{"name":"made","uid":"1","resourceVersion":"7"},"data":{"a":"b"}}',
      );
    };
    const type = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    expect(await statusOf('consumer/api/v1/namespaces/default/configmaps', 'POST', type, 'k8s')).toBe(201);
    expect(shard.requests.map(({ url }) => url.includes('dryRun=All'))).toEqual([true, false]);
    expect([sent[0], JSON.parse(sent[1] ?? '')]).toEqual([
      'k8s',
      { kind: 'ConfigMap', metadata: { name: 'made', labels: { share: 'yes' } }, data: { a: 'b' } },
    ]);
  });

  test('denies apply to a missing object without permission to create', async () => {
    shard.allows = ({ resourceAttributes }) => (resourceAttributes as JsonObject)['verb'] === 'patch';
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    const one = 'consumer/apis/example.dev/v1/namespaces/default/widgets/one';
    shard.answer = ({ exchange }) => exchange.respond(404, '{"kind":"Status","code":404,"reason":"NotFound"}');
    expect(await statusOf(one, 'PATCH', apply, '{}')).toBe(403);
    shard.answer = ({ exchange }) => exchange.respond(200, '{}');
    expect(await statusOf(one, 'PATCH', apply, '{}')).toBe(200);
  });
});

describe('authorization of the APIExport virtual workspace', () => {
  const refusal = async (path: string, method = 'GET'): Promise<string> => {
    const { status, body } = await shard.send(`${view}/${path}`, { method });
    return status === 403 ? (JSON.parse(body.toString()) as { message: string }).message : String(status);
  };
  const annotations = (): Record<string, string> => shard.auditEvents.at(-1)?.annotations ?? {};
  const reason = (step: string): string | undefined =>
    annotations()[`request.auth.kcp.io/virtual.apiexport.${step}.authorization.kcp.io-reason`];

  test('requires the verb on the content of the export, and audits each step', async () => {
    const requests: unknown[] = [];
    shard.allows = (spec, cluster, deep) => {
      requests.push([cluster, deep, spec['resourceAttributes']]);
      return true;
    };
    expect(await refusal(`consumer/${widgets}`)).toBe('200');
    const content = { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiexports', subresource: 'content' };
    expect(requests).toEqual([['provider', false, { ...content, verb: 'list', name: 'things', namespace: '' }]]);
    expect(reason('maxpermissionpolicy')).toBe('unclaimed resource in API export: "things", workspace :"provider"');
    shard.allows = () => false;
    expect(await refusal(`consumer/${widgets}`)).toBe(
      'widgets.example.dev is forbidden: User "ann" cannot list resource "widgets" in API group "example.dev" at the cluster scope: access denied',
    );
    expect(reason('content')).toBe('API export: "things", workspace: "provider" RBAC decision: no');
  });

  test('requires a binding to this export', async () => {
    expect(await refusal(`stranger/${widgets}`)).toMatch(/access denied$/);
    expect(reason('boundapi')).toBe('could not find suitable APIBinding in target logical cluster');
    shard.informer(apiBindings).put(bindingOf({}, { cluster: 'stranger', exportCluster: 'another' }));
    expect(await refusal(`stranger/${widgets}`)).toMatch(/access denied$/);
    expect(await refusal('stranger/apis/example.dev/v1')).toBe('200');
  });

  test('allows accepted claims with the verbs of both sides', async () => {
    const both = async (requests: string[], given: string[]): Promise<string> => {
      shard.informer(apiExports).put(exportOf({ permissionClaims: [{ ...configmaps, verbs: requests }] }));
      shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted({ ...configmaps, verbs: given })] }));
      return refusal('consumer/api/v1/configmaps');
    };
    expect(await both(['*'], ['*'])).toBe('200');
    // kcp v0.32 intersects the verb lists literally.
    expect(await both(['*'], ['list'])).toBe('200');
    expect(await both(['list'], ['*'])).toBe('200');
    expect(await both(['get'], ['*'])).toMatch(/access denied$/);
    expect(await both(['*'], ['get'])).toMatch(/access denied$/);
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(configmaps, { state: 'Rejected' })] }));
    expect(await refusal('consumer/api/v1/configmaps')).toMatch(/access denied$/);
    expect(reason('boundapi')).toBe('failed to find suitable reason to allow access in APIBinding');
    expect(await refusal('consumer/api/v1/secrets')).toMatch(/access denied$/);
  });

  test('allows reading bindings, never writing them', async () => {
    shard.answer = ({ exchange }) => exchange.respond(200, '{"metadata":{}}');
    expect(await refusal('consumer/apis/apis.kcp.io/v1alpha2/apibindings')).toBe('200');
    expect(await refusal('consumer/apis/apis.kcp.io/v1alpha2/apibindings/x', 'DELETE')).toMatch(/access denied$/);
    expect(reason('boundapi')).toBe('write access to APIBinding is not allowed from virtual workspace');
  });

  test('applies the maximal permission policy of the claimed export', async () => {
    shard.informer(apiResourceSchemas).put(schemaOf({ cluster: 'other', plural: 'parts', kind: 'Part' }));
    const resources = [{ name: 'parts', group: 'example.dev', schema: 'v1.parts.example.dev' }];
    const other = { cluster: 'other', name: 'parts', identity: 'id2' };
    const parts: PermissionClaim = { group: 'example.dev', resource: 'parts', verbs: ['*'], identityHash: 'id2' };
    shard.informer(apiExports).put(exportOf({ permissionClaims: [parts] }));
    shard.informer(apiBindings).put(bindingOf({ permissionClaims: [accepted(parts)] }));
    expect(await refusal('consumer/apis/example.dev/v1/parts')).toMatch(/access denied$/);
    expect(reason('maxpermissionpolicy')).toBe(
      'no API export providing claimed resources found for identity hash: "id2"',
    );
    shard.informer(apiExports).put(exportOf({ resources }, other));
    expect(await refusal('consumer/apis/example.dev/v1/parts')).toBe('200');
    shard.informer(apiExports).put(exportOf({ resources, maximalPermissionPolicy: { local: {} } }, other));
    const requests: unknown[] = [];
    shard.allows = (spec, cluster, deep) => {
      if (deep)
        requests.push([cluster, spec['user'], spec['groups'], (spec['resourceAttributes'] as JsonObject)['resource']]);
      return !deep;
    };
    expect(await refusal('consumer/apis/example.dev/v1/parts')).toMatch(/access denied$/);
    expect(reason('maxpermissionpolicy')).toBe('API export: "parts", workspace: "other" RBAC decision: no');
    expect(requests).toEqual([
      ['other', 'apis.kcp.io:binding:ann', ['apis.kcp.io:binding:system:authenticated'], 'parts'],
    ]);
  });

  test('reveals a missing export only to callers with access to its content', async () => {
    const url = '/services/apiexport/provider/nosuch/clusters/consumer/apis/example.dev/v1/widgets';
    const { status, body } = await shard.send(url);
    expect([status, JSON.parse(body.toString())]).toMatchObject([
      404,
      { kind: 'Status', reason: 'NotFound', message: 'apiexports.apis.kcp.io "nosuch" not found' },
    ]);
    shard.allows = () => false;
    expect((await shard.send(url)).status).toBe(403);
    shard.caller = { name: 'ann', uid: '7', groups: [mastersGroup], extra: {} };
    expect((await shard.send('/services/apiexport/provider/nosuch/clusters/consumer/api')).status).toBe(200);
  });
});
