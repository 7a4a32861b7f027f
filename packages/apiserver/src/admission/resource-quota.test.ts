import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { JsonObject } from '@multiplane/apimachinery';
import { Pipeline } from '../../test/pipeline.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { ResourceQuotaAdmission } from './resource-quota.ts';

const quotas = '/api/v1/namespaces/default/resourcequotas';
const secrets = '/api/v1/namespaces/default/secrets';

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

/** A namespace with a quota whose status is set, as by the controller. */
async function withQuota(
  hard: JsonObject,
  used: JsonObject = Object.fromEntries(Object.keys(hard).map((key) => [key, '0'])),
  scope: JsonObject = {},
): Promise<Pipeline> {
  // The plugin needs the cache of the pipeline, and the pipeline its plugins.
  const made: { quota?: ResourceQuotaAdmission } = {};
  const plugin: AdmissionPlugin = {
    name: 'ResourceQuota',
    handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
    validate: async (attributes) => made.quota?.validate(attributes),
  };
  const on = await Pipeline.open({ plugins: [plugin] });
  pipeline = on;
  await on.must(201, 'POST', quotas, { metadata: { name: 'q' }, spec: { hard, ...scope } });
  await on.must(
    200,
    'PATCH',
    `${quotas}/q/status`,
    { status: { hard, used } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await eventLoopIdle();
  // Starts with an existing quota, as after a restart: it counts from the first create on.
  made.quota = new ResourceQuotaAdmission({
    cache: on.cache,
    reader: on.reader,
    resolver: on.resolver,
    clock: on.clock,
    store: () => on.store,
  });
  return on;
}

const used = async (on: Pipeline): Promise<unknown> =>
  ((await on.must(200, 'GET', `${quotas}/q`))['status'] as JsonObject)['used'];

describe('a quota', () => {
  test('is charged by creates and rejects those that exceed it', async () => {
    const on = await withQuota({ 'count/secrets': '2', secrets: '5' });
    await on.must(201, 'POST', secrets, { metadata: { name: 'a' } });
    await on.must(201, 'POST', secrets, { metadata: { name: 'b' } });
    const refused = await on.must(403, 'POST', secrets, { metadata: { name: 'c' } });
    expect(refused['message']).toBe(
      'secrets "c" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2',
    );
    expect(await used(on)).toEqual({ 'count/secrets': '2', secrets: '2' });
  });

  test('is not exceeded by concurrent creates', async () => {
    const on = await withQuota({ 'count/secrets': '3' });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => on.ask('POST', secrets, { metadata: { name: `s${index}` } })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(await used(on)).toEqual({ 'count/secrets': '3' });
  });

  test('is charged neither by dry runs nor by resources that it does not name', async () => {
    const on = await withQuota({ 'count/secrets': '1' });
    await on.must(201, 'POST', `${secrets}?dryRun=All`, { metadata: { name: 'a' } });
    await on.must(201, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
    await on.must(201, 'POST', '/api/v1/namespaces/default/events', {
      metadata: { name: 'e' },
      involvedObject: { namespace: 'default' },
    });
    expect(await used(on)).toEqual({ 'count/secrets': '0' });
  });

  test('with scopes counts no objects but pods and claims', async () => {
    const on = await withQuota({ 'count/secrets': '0' }, undefined, { scopes: ['NotTerminating'] });
    await on.must(201, 'POST', secrets, { metadata: { name: 'a' } });
    expect(await used(on)).toEqual({ 'count/secrets': '0' });
  });

  test('without status rejects creates', async () => {
    const on = await withQuota({ 'count/secrets': '1' }, {});
    expect((await on.must(403, 'POST', secrets, { metadata: { name: 'a' } }))['message']).toBe(
      'secrets "a" is forbidden: status unknown for quota: q, resources: count/secrets',
    );
  });
});
