import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { Pipeline } from '../../test/pipeline.ts';

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(() => pipeline.close());

describe('events of events.k8s.io, which are stored as those of the core group', () => {
  const events = '/apis/events.k8s.io/v1/namespaces/default/events';

  test.each([
    ['GET', 404, undefined, 'events.events.k8s.io "e" not found', 'events.k8s.io'],
    [
      'PUT',
      422,
      { metadata: { name: 'e' }, eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'c' },
      expect.stringMatching(/^Event "e" is invalid: /),
      undefined,
    ],
  ])(
    '%s: errors of validation name the stored kind, others the resource',
    async (method, status, body, message, group) => {
      const answer = await pipeline.ask(method, `${events}/e`, body);
      expect(answer.status).toBe(status);
      expect(answer.body).toMatchObject({ message });
      expect((answer.body['details'] as JsonObject)['group']).toBe(group);
    },
  );

  test('a body of another kind cannot be converted into the stored one', async () => {
    const answer = await pipeline.ask('POST', events, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'e' } });
    expect(answer.body['message']).toBe(
      'ConfigMap in version "v1" cannot be handled as a Event: converting (v1.ConfigMap) to (core.Event): unknown conversion',
    );
  });
});

describe('deletion of a namespace', () => {
  const path = '/api/v1/namespaces/n';

  test.each([
    [{ uid: 'other' }, /^Precondition failed: UID in precondition: other, UID in object meta: 0{8}-/],
    [
      { resourceVersion: '1' },
      /^Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: \d+$/,
    ],
  ])('preconditions %j', async (preconditions, reason) => {
    await pipeline.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
    const answer = await pipeline.ask('DELETE', path, { preconditions });
    const head = 'Operation cannot be fulfilled on namespaces "n": ';
    expect(answer.body).toMatchObject({ reason: 'Conflict', details: { name: 'n', kind: 'namespaces' } });
    expect((answer.body['message'] as string).slice(0, head.length)).toBe(head);
    expect((answer.body['message'] as string).slice(head.length)).toMatch(reason);
  });

  test('orphanDependents false deletes dependents in the foreground; a further DELETE changes nothing', async () => {
    await pipeline.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
    const marked = await pipeline.must(202, 'DELETE', path, { orphanDependents: false });
    expect(marked['metadata']).toMatchObject({ finalizers: ['foregroundDeletion'] });
    const again = await pipeline.must(200, 'DELETE', path, { propagationPolicy: 'Orphan' });
    expect(again['metadata']).toEqual(marked['metadata']);
  });
});

test('PUT of a missing object with a uid: 404 where the kind does not create on update, else 409', async () => {
  const body = { metadata: { name: 'z', uid: 'u' } };
  const missing = await pipeline.ask('PUT', '/api/v1/namespaces/default/configmaps/z', body);
  expect(missing.body).toMatchObject({ code: 404, message: 'configmaps "z" not found' });
  const lease = await pipeline.ask('PUT', '/apis/coordination.k8s.io/v1/namespaces/default/leases/z', body);
  expect(lease.body).toMatchObject({ code: 409, reason: 'Conflict' });
});

test('a field of the wrong type is named as by a decoder of Go: the innermost struct, no positions', async () => {
  const message = async (path: string, body: JsonObject): Promise<unknown> =>
    (await pipeline.ask('POST', path, body)).body['message'];
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const head = 'Lease in version "v1" cannot be handled as a Lease: ';
  expect(await message(leases, { metadata: { name: 'a' }, spec: { leaseDurationSeconds: 'x' } })).toBe(
    `${head}json: cannot unmarshal string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32`,
  );
  expect(await message('/api/v1/namespaces/default/resourcequotas', { spec: { scopes: 'x' } })).toMatch(
    /into Go struct field ResourceQuotaSpec.spec.scopes of type \[\]v1.ResourceQuotaScope$/,
  );
  expect(await message('/api/v1/namespaces/default/resourcequotas', { spec: { hard: 'x' } })).toMatch(
    /into Go struct field ResourceQuotaSpec.spec.hard of type v1.ResourceList$/,
  );
  expect(
    await message('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      webhooks: [{ sideEffects: 5 }],
    }),
  ).toMatch(/into Go struct field ValidatingWebhook.webhooks.sideEffects of type v1.SideEffectClass$/);
  expect(await message('/api/v1/namespaces/default/limitranges', { spec: { limits: [{ max: 'x' }] } })).toMatch(
    /into Go struct field LimitRangeItem.spec.limits.max of type v1.ResourceList$/,
  );
  expect(await message('/api/v1/namespaces/default/configmaps', { metadata: { uid: 5 } })).toMatch(
    /into Go struct field ObjectMeta.metadata.uid of type types.UID$/,
  );
  expect(await message(leases, { metadata: { name: 'a' }, spec: { renewTime: 5 } })).toBe(
    `${head}json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string`,
  );
  expect(await message(leases, { metadata: { name: 'a' }, spec: { renewTime: '' } })).toBe(
    `${head}parsing time "" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "2006"`,
  );
  expect(
    await message('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', { rules: [{ verbs: ['get', 5] }] }),
  ).toBe(
    'Role in version "v1" cannot be handled as a Role: json: cannot unmarshal number into Go struct field PolicyRule.rules.verbs of type string',
  );
});

test('flow control objects have a status from the start', async () => {
  const level = await pipeline.must(201, 'POST', '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations', {
    metadata: { name: 'level' },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  });
  expect(level['status']).toEqual({});
});

test('an empty list of rules is owned by its writer and stored as null', async () => {
  const role = await pipeline.must(201, 'POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
    metadata: { name: 'r' },
    rules: [],
  });
  expect(role['rules']).toBeNull();
  expect((role['metadata'] as JsonObject)['managedFields']).toMatchObject([{ fieldsV1: { 'f:rules': {} } }]);
});

test('bodies of DELETE that are no options, and an apply without a name in another namespace', async () => {
  const path = '/api/v1/namespaces/default/configmaps/z';
  const message = async (method: string, body: unknown, headers?: Record<string, string>): Promise<unknown> =>
    (await pipeline.ask(method, `${path}?fieldManager=m`, body, headers)).body['message'];
  expect(await message('DELETE', { kind: 'Foo' })).toMatch(
    /^no kind "Foo" is registered for version "meta.k8s.io\/v1"/,
  );
  expect(await message('DELETE', [])).toMatch(
    /^couldn't get version\/kind; json parse error: json: cannot unmarshal array/,
  );
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'q' } };
  expect(await message('PATCH', configMap, { 'content-type': 'application/apply-patch+yaml' })).toBe(
    'the namespace of the provided object does not match the namespace sent on the request',
  );
});

test('an update that creates an object keeps the deletion fields of its body, a create does not', async () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 };
  const put = await pipeline.must(201, 'PUT', `${leases}/a`, { metadata: { name: 'a', ...metadata } });
  expect(put['metadata']).toMatchObject(metadata);
  const post = await pipeline.must(201, 'POST', leases, { metadata: { name: 'b', ...metadata } });
  expect(Object.keys(post['metadata'] as object)).not.toContain('deletionTimestamp');
});

test.each([
  ['configmaps', 'binaryData'],
  ['secrets', 'data'],
])('an empty map in %s that are immutable differs from none: %s', async (resource, field) => {
  const path = `/api/v1/namespaces/default/${resource}`;
  const body = { metadata: { name: 'a' }, immutable: true };
  await pipeline.must(201, 'POST', path, body);
  await pipeline.must(200, 'PUT', `${path}/a`, body);
  if (resource === 'configmaps') await pipeline.must(200, 'PUT', `${path}/a`, { ...body, data: {} });
  const refused = await pipeline.must(422, 'PUT', `${path}/a`, { ...body, [field]: {} });
  expect(refused['message']).toMatch(/ata: Forbidden: field is immutable when `immutable` is set$/);
});
