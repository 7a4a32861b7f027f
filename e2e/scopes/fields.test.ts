/** Scopes by a field of the spec: what holds for those by a label holds for them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import type { Response } from '../harness/requests.ts';
import {
  clusterObject,
  eventsOf,
  finalizer,
  Marketplace,
  mustSucceed,
  objectOf,
  scopeObject,
  scopesPath,
  summary,
  type Cluster,
} from './marketplace.ts';

const patient = { timeout: 60_000 };
const setsPath = scopesPath.replace('apiexportscopes', 'apiexportscopesets');
const exportPath = '/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/marketplace';
const fieldScope = (value: string, path = 'spec.class'): object => ({
  selector: { matchFields: { [path]: value } },
  transfer: 'WhenFinalizersGone',
});

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start();
  // user-1 is the provider of class x, user-2 that of class y.
  for (const [name, as] of [
    ['x', 'user-1'],
    ['y', 'user-2'],
  ] as const) {
    await market.createScope(name, fieldScope(name));
    await market.inForce(name);
    await market.grant('provider', as, `use-${name}`, [
      {
        apiGroups: ['scopes.multiplane.dev'],
        resources: ['apiexportscopes/content'],
        resourceNames: [name],
        verbs: ['*'],
      },
    ]);
  }
  for (const consumer of ['near', 'far']) {
    await eventually(async () => mustSucceed(await market.list('x', consumer, 'user-1')), patient);
    await eventually(async () => mustSucceed(await market.list('y', consumer, 'user-2')), patient);
  }
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const create = (consumer: string, name: string, spec: object, as = 'user-3'): Promise<Response> =>
  market.shared.requests.send({
    as,
    method: 'POST',
    path: market.own(consumer),
    body: clusterObject(name, {}, { size: 1, ...spec }),
  });
const classOf = ({ spec }: Cluster): string | undefined => spec?.class;
const current = async (consumer: string, name: string): Promise<string | undefined> =>
  classOf(await market.current(consumer, name));
const namesIn = async (scope: string, consumer: string, query = ''): Promise<string[]> => {
  const path = `${market.in(scope, consumer)}${query}`;
  const { json } = mustSucceed(await market.shared.requests.send({ as: scope === 'x' ? 'user-1' : 'user-2', path }));
  return (json['items'] as Cluster[]).map(({ metadata }) => metadata.name).sort();
};
const move = (consumer: string, name: string, to: string | null, as = 'masters'): Promise<Response> =>
  market.patch(market.own(consumer, name), { spec: { class: to } }, as);

describe.each(['near', 'far'])('objects of the consumer %s', (consumer) => {
  test('are in the scope whose value they have, and do not exist in the other one', async () => {
    const name = `one-${consumer}`;
    mustSucceed(await create(consumer, name, { class: 'x' }));
    mustSucceed(await create(consumer, `none-${consumer}`, {}));
    await eventually(async () => expect(await namesIn('x', consumer)).toContain(name));
    expect(await namesIn('x', consumer)).not.toContain(`none-${consumer}`);
    for (const query of ['', '?limit=1', '?requiredFields=spec.class%3Dx', '?fieldSelector=spec.class%3Dx'])
      expect([query, await namesIn('y', consumer, query)]).toEqual([query, []]);
    expect(await namesIn('x', consumer, '?fieldSelector=spec.class%3Dx')).toContain(name);
    const hidden = market.in('y', consumer, name);
    const foreign = clusterObject(name, {}, { class: 'y' });
    for (const request of [
      { path: hidden },
      { path: `${hidden}?requiredFields=spec.class%3Dx` },
      { path: `${hidden}/status` },
      { path: `${hidden}/scale` },
      { path: hidden, headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } },
      { path: hidden, method: 'DELETE' },
      { path: hidden, method: 'PUT', headers: { 'content-type': 'application/json' }, body: foreign },
      { path: hidden, method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: {} },
      {
        path: `${hidden}?fieldManager=y&force=true`,
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: foreign,
      },
    ]) {
      const { status, json } = await market.shared.requests.send({ as: 'user-2', ...request });
      expect({ request, status, message: json['message'] }).toEqual({
        request,
        status: 404,
        message: `clusters.marketplace.example "${name}" not found`,
      });
    }
    mustSucceed(await market.shared.requests.send({ as: 'user-2', method: 'DELETE', path: market.in('y', consumer) }));
    const through = market.in('x', consumer, name);
    mustSucceed(await market.patch(through, { spec: { size: 3 } }, 'user-1'));
    mustSucceed(await market.patch(`${through}/status`, { status: { phase: 'Running' } }, 'user-1'));
    expect(await market.current(consumer, name)).toMatchObject({
      spec: { size: 3, class: 'x' },
      status: { phase: 'Running' },
    });
  });

  test('are created in the scope through which they are created', async () => {
    const path = market.in('x', consumer);
    const send = (body: object): Promise<Response> =>
      market.shared.requests.send({ as: 'user-1', method: 'POST', path, body });
    expect(classOf(objectOf(await send(clusterObject(`posted-${consumer}`))))).toBe('x');
    const refused = await send(clusterObject('foreign', {}, { class: 'y' }));
    expect([refused.status, refused.json['message']]).toEqual([
      403,
      expect.stringContaining('protected field spec.class must have value x'),
    ]);
  });

  test('keep their value whichever way it is written, and others are refused', async () => {
    const name = `kept-${consumer}`;
    mustSucceed(await create(consumer, name, { class: 'x' }));
    const path = market.own(consumer, name);
    const { resourceVersion } = (await market.current(consumer, name)).metadata;
    const sent = (type: string, body: object | string, method = 'PATCH', query = '') =>
      market.shared.requests.send({
        as: 'user-3',
        path: `${path}${query}`,
        method,
        headers: { 'content-type': type },
        body,
      });
    const json = 'application/json';
    const other = clusterObject(name, { resourceVersion }, { size: 1, class: 'y' });
    for (const [what, { status, json: answer }] of [
      ['merge', await sent('application/merge-patch+json', { spec: { class: 'y' } })],
      ['removed', await sent('application/merge-patch+json', { spec: { class: null } })],
      ['spec removed', await sent('application/merge-patch+json', { spec: null })],
      ['empty', await sent('application/merge-patch+json', { spec: { class: '' } })],
      ['unknown', await sent('application/merge-patch+json', { spec: { class: 'unknown' } })],
      ['JSON patch', await sent('application/json-patch+json', [{ op: 'replace', path: '/spec/class', value: 'y' }])],
      ['put', await sent(json, other, 'PUT')],
      ['put without', await sent(json, clusterObject(name, { resourceVersion }), 'PUT')],
      [
        'apply',
        await sent(
          'application/apply-patch+yaml',
          clusterObject(name, {}, { class: 'y' }),
          'PATCH',
          '?fieldManager=c&force=true',
        ),
      ],
    ] as const)
      expect([what, status, answer['message']]).toEqual([
        what,
        403,
        expect.stringMatching(/field "spec\.class" is protected/),
      ]);
    // What writes other things than the field is admitted, and leaves it.
    mustSucceed(await sent('application/merge-patch+json', { spec: { size: 9 } }));
    const status = await market.patch(`${path}/status`, { spec: { class: 'y' }, status: { phase: 'Odd' } }, 'user-3');
    expect(classOf(objectOf(status))).toBe('x');
    mustSucceed(await market.patch(`${path}/scale`, { spec: { replicas: 4 } }, 'user-3'));
    expect(await market.current(consumer, name)).toMatchObject({ spec: { size: 4, class: 'x' } });
    const unknown = await create(consumer, `unknown-${consumer}`, { class: 'unknown' });
    expect([unknown.status, unknown.json['message']]).toEqual([403, expect.stringContaining('no APIExportScope has')]);
  });

  test('without a value are in no scope, and get one later only from those who may assign', async () => {
    const name = `late-${consumer}`;
    mustSucceed(await create(consumer, name, {}));
    const early = await move(consumer, name, 'x', 'user-3');
    expect([early.status, early.json['message']]).toEqual([403, expect.stringContaining('later only with the verb')]);
    mustSucceed(await move(consumer, name, 'x'));
    expect(await namesIn('x', consumer)).toContain(name);
  });

  test('move between scopes with one event for each, also for watches that resume', async () => {
    const name = `moved-${consumer}`;
    mustSucceed(await create(consumer, name, { class: 'x' }));
    mustSucceed(
      await market.patch(market.in('x', consumer, name), { metadata: { finalizers: [finalizer] } }, 'user-1'),
    );
    const { resourceVersion: before } = (await market.current(consumer, name)).metadata;
    const byName = `&fieldSelector=metadata.name%3D${name}&resourceVersion=`;
    const open = (scope: string) =>
      market.shared.requests.watch(
        `${market.in(scope, consumer)}?watch=true${byName}${before}`,
        scope === 'x' ? 'user-1' : 'user-2',
      );
    const [left, entered] = [await open('x'), await open('y')];
    // The finalizer of its provider holds it.
    const waiting = objectOf(await move(consumer, name, 'y'));
    expect(classOf(waiting)).toBe('x');
    expect(waiting.metadata.annotations?.['scopes.multiplane.dev/conditions']).toContain(
      'moves from spec.class=x to spec.class=y',
    );
    // As for a label, a value through the scope itself is refused, and the transfer cannot be undone by setting it back.
    const through = await market.patch(market.in('x', consumer, name), { spec: { class: 'y' } }, 'user-1');
    expect([through.status, through.json['message']]).toEqual([
      403,
      expect.stringContaining('cannot be changed through APIExportScope "x"'),
    ]);
    mustSucceed(await market.patch(market.in('x', consumer, name), { metadata: { finalizers: null } }, 'user-1'));
    const { metadata, spec } = await market.current(consumer, name);
    expect(spec?.class).toBe('y');
    const events = await eventsOf(left, 2);
    expect(events.map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED']);
    expect(summary(await eventsOf(entered, 1))).toEqual([`ADDED ${name} ${metadata.resourceVersion}`]);
    const [resumed, resumedThere] = [await open('x'), await open('y')];
    expect(summary(await eventsOf(resumed, 2))).toEqual(summary(events));
    expect(summary(await eventsOf(resumedThere, 1))).toEqual(summary(await eventsOf(entered, 1)));
    expect(events[1]?.object.metadata.resourceVersion).toBe(metadata.resourceVersion);
    for (const watch of [left, entered, resumed, resumedThere]) watch.close();
  });

  test('are selected by field selectors of the bound resource', async () => {
    mustSucceed(await create(consumer, `selected-${consumer}`, { class: 'y' }));
    const list = async (path: string): Promise<string[]> => {
      const { json } = mustSucceed(await market.shared.requests.send({ path: `${path}?fieldSelector=spec.class%3Dy` }));
      return (json['items'] as Cluster[]).map((object) => classOf(object) ?? '');
    };
    const whole = `/services/apiexport/${market.shared.clusters.get('provider')}/marketplace/clusters/${market.shared.clusters.get(consumer)}`;
    for (const path of [market.own(consumer), `${whole}/apis/marketplace.example/v1/clusters`])
      expect([path, new Set(await list(path))]).toEqual([path, new Set(['y'])]);
    const unknown = await market.shared.requests.send({ path: `${market.own(consumer)}?fieldSelector=spec.size%3D1` });
    expect([unknown.status, unknown.json['message']]).toEqual([400, 'field label not supported: spec.size']);
  });
});

test('scopes and sets select by exactly one field below spec, and overlap like those by a label', async () => {
  const refusal = async (path: string, body: object): Promise<string> => {
    const { status, json } = await market.shared.requests.send({ method: 'POST', path, body });
    return `${status} ${String(json['message'])}`;
  };
  const selected = (selector: object, more: object = {}): Promise<string> =>
    refusal(scopesPath, scopeObject('refused', { selector, ...more }));
  expect(await selected({ matchFields: { 'spec.class': 'x' } })).toContain('overlaps with APIExportScope "x"');
  expect(await selected({ matchFields: { 'spec.class': 'z' }, matchLabels: { a: 'z' } })).toContain('exactly one of');
  expect(await selected({})).toContain('exactly one of');
  expect(await selected({ matchFields: { 'spec.class': 'z', 'spec.size': '1' } })).toMatch(/^422 .*at most 1/);
  expect(await selected({ matchFields: { 'spec.class': '' } })).toMatch(/^422 /);
  for (const path of ['.spec.class', 'status.phase', 'metadata.name', 'spec', 'spec.list[0]'])
    expect(await selected({ matchFields: { [path]: 'z' } })).toContain('must be the path of a field below spec');
  expect(await selected({ matchFields: { 'spec.class': 'z' } }, { permissionClaims: 'Labelled' })).toContain(
    'Excluded',
  );
  const set = {
    apiVersion: 'scopes.multiplane.dev/v1alpha1',
    kind: 'APIExportScopeSet',
    metadata: { name: 'refused' },
  };
  const spec = { export: { name: 'marketplace' }, values: ['z'] };
  expect(await refusal(setsPath, { ...set, spec })).toContain('exactly one of labelKey and fieldPath');
  expect(await refusal(setsPath, { ...set, spec: { ...spec, fieldPath: 'spec.class', labelKey: 'a' } })).toContain(
    'exactly one of labelKey and fieldPath',
  );
  const badLabel = { ...spec, labelKey: 'a', values: ['not a label value'] };
  expect(await refusal(setsPath, { ...set, spec: badLabel })).toMatch(
    /^403 .*values\[0\]: Invalid value: "not a label value"/,
  );
});

test('the status of a field scope has its key, value and counts, and a set makes scopes of the values that occur', async () => {
  const status = async (path: string): Promise<JsonObject> =>
    mustSucceed(await market.shared.requests.send({ path })).json['status'] as JsonObject;
  expect(await status(`${scopesPath}/x`)).toMatchObject({ key: 'spec.class', value: 'x' });
  const total = async (name: string): Promise<number> =>
    ((await status(`${scopesPath}/${name}`))['shards'] as { objects: number }[]).reduce(
      (sum, one) => sum + one.objects,
      0,
    );
  const listed = (await namesIn('x', 'near')).length + (await namesIn('x', 'far')).length;
  await eventually(async () => expect(await total('x')).toBe(listed), patient);
  await market.shared.post(setsPath, {
    apiVersion: 'scopes.multiplane.dev/v1alpha1',
    kind: 'APIExportScopeSet',
    metadata: { name: 'size' },
    spec: { export: { name: 'marketplace' }, fieldPath: 'spec.class', occurring: { limit: 5 } },
  });
  // Not while a scope without the set has the value: they would overlap.
  await eventually(async () => expect(await status(`${setsPath}/size`)).toMatchObject({ key: 'spec.class' }), patient);
  // The shard of the consumer learns of the set a moment later.
  await eventually(async () => mustSucceed(await create('far', 'occurs', { class: 'new' }, 'masters')), patient);
  await eventually(async () => expect(await status(`${scopesPath}/size-new`)).toMatchObject({ value: 'new' }), patient);
  await market.inForce('size-new');
  await eventually(async () => expect(await total('size-new')).toBe(1), patient);
  await market.shared.remove(`${setsPath}/size`);
  await eventually(
    async () => expect((await market.shared.requests.send({ path: `${scopesPath}/size-new` })).status).toBe(404),
    patient,
  );
});

describe('a schema that changes the field', () => {
  const schemaOf = (prefix: string, fields: JsonObject, more: object = {}, versions: object[] = []): JsonObject => {
    const properties = { spec: { type: 'object', properties: { size: { type: 'integer' }, ...fields } } };
    const version = { name: 'v1', served: true, storage: true, schema: { type: 'object', properties }, ...more };
    const made = apiResourceSchema({
      group: 'marketplace.example',
      plural: 'clusters',
      versions: [version, ...versions],
    } as Parameters<typeof apiResourceSchema>[0]) as unknown as JsonObject;
    const metadata = { name: `${prefix}.clusters.marketplace.example` };
    return { ...made, metadata };
  };
  /** Offers a schema, and waits until all consumers have it. */
  const offer = async (schema: JsonObject, conversions?: object[]): Promise<void> => {
    const name = (schema['metadata'] as { name: string }).name;
    await market.shared.addSchema(schema as unknown as Parameters<typeof market.shared.addSchema>[0]);
    if (conversions !== undefined)
      await market.shared.post('/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiconversions', {
        apiVersion: 'apis.kcp.io/v1alpha1',
        kind: 'APIConversion',
        metadata: { name },
        spec: { conversions },
      });
    const resources = [{ group: 'marketplace.example', name: 'clusters', schema: name, storage: { crd: {} } }];
    await market.shared.patch(exportPath, { spec: { resources } });
    for (const consumer of ['near', 'far'])
      await eventually(async () => {
        const path = `/clusters/root:${consumer}/apis/apis.kcp.io/v1alpha2/apibindings/marketplace`;
        const binding = JSON.stringify(await market.shared.get(path));
        expect(binding).toContain(`"name":"${name}"`);
      }, patient);
  };
  const selectableFields = [{ jsonPath: '.spec.class' }];
  const original = (prefix: string): JsonObject =>
    schemaOf(prefix, { class: { type: 'string' } }, { selectableFields });
  const condition = async (): Promise<string> => {
    const { json } = mustSucceed(await market.shared.requests.send({ path: `${scopesPath}/x` }));
    const { conditions } = json['status'] as { conditions: { type: string; reason?: string; status: string }[] };
    const found = conditions.find(({ type }) => type === 'FieldSelectable');
    return `${found?.status} ${found?.reason ?? ''}`;
  };

  test.each([
    ['renames it', { className: { type: 'string' } }, { selectableFields: [{ jsonPath: '.spec.className' }] }],
    ['no longer declares it', { class: { type: 'string' } }, {}],
  ] as const)('and %s: the scope says so and serves nothing, and no value is lost', async (what, fields, more) => {
    const prefix = what.startsWith('renames') ? 'r' : 'd';
    for (const consumer of ['near', 'far']) mustSucceed(await create(consumer, `${prefix}-stays`, { class: 'x' }));
    await offer(schemaOf(`${prefix}2`, fields, more));
    await eventually(async () => expect(await condition()).toBe('False FieldNotSelectable'), patient);
    for (const consumer of ['near', 'far']) {
      await eventually(async () => expect((await market.list('x', consumer, 'user-1')).status).toBe(404), patient);
      const path = market.own(consumer, `${prefix}-stays`);
      await eventually(async () => {
        const { resourceVersion } = (await market.current(consumer, `${prefix}-stays`)).metadata;
        const spec = prefix === 'r' ? { size: 2, className: 'y' } : { size: 2, class: 'x' };
        const body = clusterObject(`${prefix}-stays`, { resourceVersion }, spec);
        const headers = { 'content-type': 'application/json' };
        const put = mustSucceed(
          await market.shared.requests.send({ as: 'user-3', method: 'PUT', path, headers, body }),
        );
        expect(objectOf(put).spec).toEqual(spec);
      }, patient);
      const other = await market.patch(path, { spec: { class: 'y' } }, 'user-3');
      expect([prefix, other.status]).toEqual([prefix, prefix === 'r' ? 200 : 403]);
    }
    await offer(original(`${prefix}3`));
    await eventually(async () => expect(await condition()).toBe('True '), patient);
    for (const consumer of ['near', 'far'])
      await eventually(async () => expect(await namesIn('x', consumer)).toContain(`${prefix}-stays`), patient);
  });

  test('gives it a default: existing objects stay where they are, new ones are in the scope of the default', async () => {
    for (const consumer of ['near', 'far']) mustSucceed(await create(consumer, 'undefaulted', {}));
    await offer(schemaOf('f2', { class: { type: 'string', default: 'y' } }, { selectableFields }));
    for (const consumer of ['near', 'far']) {
      // The consumer's shard serves the new schema a moment after its binding says so.
      await eventually(async () => {
        const { metadata } = objectOf(await create(consumer, `defaulted-${Math.random().toString(36).slice(2)}`, {}));
        expect(await current(consumer, metadata.name)).toBe('y');
        expect(await namesIn('y', consumer)).toContain(metadata.name);
      }, patient);
      // The consumer may not assign: its update is admitted, and assigns nothing.
      mustSucceed(await market.patch(market.own(consumer, 'undefaulted'), { spec: { size: 5 } }, 'user-3'));
      expect(await namesIn('y', consumer)).not.toContain('undefaulted');
    }
    await offer(original('f3'));
  });

  test('adds a version without it: writes in that version keep the stored value', async () => {
    const lossy = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
    };
    await offer(
      schemaOf('v2', { class: { type: 'string' } }, { selectableFields }, [
        { name: 'v2', served: true, storage: false, schema: lossy },
      ]),
    );
    for (const consumer of ['near', 'far']) {
      const v2 = (name = ''): string => market.own(consumer, name).replace('/v1/', '/v2/');
      const as = 'user-3';
      mustSucceed(await create(consumer, 'in-v2', { class: 'x' }));
      const { requests } = market.shared;
      await eventually(async () => mustSucceed(await requests.send({ as, path: v2('in-v2') })), patient);
      mustSucceed(await market.patch(v2('in-v2'), { metadata: { finalizers: [finalizer] }, spec: { size: 7 } }, as));
      mustSucceed(await requests.send({ as, method: 'DELETE', path: v2('in-v2') }));
      expect(await market.current(consumer, 'in-v2')).toMatchObject({ spec: { size: 7, class: 'x' } });
      // Through the scope, too: it selects by what is stored, in every version.
      const through = market.in('x', consumer, 'in-v2').replace('/v1/', '/v2/');
      await eventually(async () => mustSucceed(await requests.send({ as: 'user-1', path: through })), patient);
      const path = market.in('x', consumer).replace('/v1/', '/v2/');
      const posted = { ...clusterObject('posted-in-v2'), apiVersion: 'marketplace.example/v2' };
      mustSucceed(await requests.send({ as: 'user-1', method: 'POST', path, body: posted }));
      expect(await current(consumer, 'posted-in-v2')).toBe('x');
      mustSucceed(await market.patch(through, { metadata: { finalizers: null } }, 'user-1'));
    }
    await offer(original('v3'));
  });

  test('renames it in another version: it is protected there as well, and given its value', async () => {
    const renamed = {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { size: { type: 'integer' }, className: { type: 'string' } } },
      },
    };
    const rule = (path: string, destination: string): object => ({
      field: `.spec.${path}`,
      destination: `.spec.${destination}`,
    });
    await offer(
      schemaOf('c2', { class: { type: 'string' } }, { selectableFields }, [
        { name: 'v2', served: true, storage: false, schema: renamed },
      ]),
      [
        { from: 'v1', to: 'v2', rules: [rule('class', 'className'), rule('size', 'size')] },
        { from: 'v2', to: 'v1', rules: [rule('className', 'class'), rule('size', 'size')] },
      ],
    );
    const as = 'user-3';
    const { requests } = market.shared;
    const inV2 = (path: string): string => path.replace('/v1/', '/v2/');
    const body = (object: string, className: string): object => ({
      ...clusterObject(object, {}, { size: 1, className }),
      apiVersion: 'marketplace.example/v2',
    });
    for (const consumer of ['near', 'far']) {
      const path = inV2(market.own(consumer));
      const send = (object: string, className: string): Promise<Response> =>
        requests.send({ as, method: 'POST', path, body: body(object, className) });
      await eventually(async () => {
        const made = await send(`renamed-${Math.random().toString(36).slice(2)}`, 'x');
        const { spec, metadata } = objectOf(made);
        expect(spec).toEqual({ size: 1, className: 'x' });
        expect(await current(consumer, metadata.name)).toBe('x');
      }, patient);
      mustSucceed(await send('renamed', 'x'));
      const unknown = await send('renamed-unknown', 'unknown');
      expect([unknown.status, unknown.json['message']]).toEqual([
        403,
        expect.stringContaining('field "spec.class" is protected'),
      ]);
      const one = `${path}/renamed`;
      expect((await market.patch(one, { spec: { className: 'y' } }, as)).status).toBe(403);
      mustSucceed(await market.patch(one, { spec: { size: 8 } }, as));
      const through = inV2(market.in('x', consumer, 'renamed'));
      expect(objectOf(await requests.send({ as: 'user-1', path: through })).spec).toEqual({ size: 8, className: 'x' });
      // A transfer asked for in one version is one in all of them.
      mustSucceed(await market.patch(one, { spec: { className: 'y' } }, 'masters'));
      expect((await requests.send({ as: 'user-1', path: through })).status).toBe(404);
      expect(await current(consumer, 'renamed')).toBe('y');
    }
    await offer(original('c3'));
  });
});
