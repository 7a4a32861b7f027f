import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { SharedApis } from '../harness/shared-apis.ts';
import { namesOf, VirtualResources } from '../harness/virtual-resources.ts';
import { field } from '../harness/workspaces.ts';

/** What counts, owns and deletes the objects of a consumer leaves those of its provider alone. */
const group = 'cloud.example.com';
const patient = { timeout: 60_000 };
const spec: JsonObject = { type: 'object', properties: { cpus: { type: 'integer' } } };

let shared: SharedApis;
let virtual: VirtualResources;

beforeAll(async () => {
  shared = await SharedApis.start();
  virtual = new VirtualResources(shared);
  await shared.nearAndFar();
  await virtual.define({ group, plural: 'cpuflavors', kind: 'CpuFlavor', scope: 'Cluster', spec });
  await virtual.define({ group, plural: 'images', kind: 'Image', scope: 'Namespaced', spec });
  for (const name of ['small', 'large'])
    await shared.post(virtual.path('provider', 'cpuflavors'), object('CpuFlavor', name));
  for (const name of ['debian', 'fedora'])
    await shared.post(virtual.path('provider', 'images', 'default'), object('Image', name));
  for (const plural of ['cpuflavors', 'images']) await virtual.replicate(plural);
  await virtual.offer('compute', ['cpuflavors', 'images']);
  for (const consumer of ['near', 'far']) {
    await shared.bind(consumer, 'compute');
    await virtual.shown(consumer, 'cpuflavors', ['large', 'small']);
    await virtual.shown(consumer, 'images', ['debian', 'fedora']);
  }
}, 240_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const object = (kind: string, name: string): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  spec: { cpus: 1 },
});
const core = (workspace: string, rest: string): string => `/clusters/root:${workspace}/api/v1/${rest}`;

async function expectProviderUntouched(): Promise<void> {
  expect(namesOf(await shared.get(virtual.path('provider', 'cpuflavors')))).toEqual(['large', 'small']);
  expect(namesOf(await shared.get(virtual.path('provider', 'images')))).toEqual(['debian', 'fedora']);
}

describe.each(['near', 'far'])('in the workspace %s', (consumer) => {
  test('quota counts what is stored, not what is virtual', async () => {
    const quotas = core(consumer, 'namespaces/default/resourcequotas');
    const hard = { [`count/images.${group}`]: '1', 'count/secrets': '1' };
    await shared.post(quotas, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } });
    const used = async (): Promise<unknown> => field(await shared.get(`${quotas}/q`), 'status', 'used');
    await eventually(
      async () => expect(await used()).toEqual({ [`count/images.${group}`]: '0', 'count/secrets': '0' }),
      patient,
    );
    // A change of what is stored has the quota counted anew.
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
    await shared.post(core(consumer, 'namespaces/default/secrets'), secret);
    expect(await used()).toEqual({ [`count/images.${group}`]: '0', 'count/secrets': '1' });
    await shared.remove(core(consumer, 'namespaces/default/secrets/s'));
    await eventually(
      async () => expect(await used()).toEqual({ [`count/images.${group}`]: '0', 'count/secrets': '0' }),
      patient,
    );
    await shared.remove(`${quotas}/q`);
  }, 90_000);

  test('what a virtual object owns stays, while what an object that is gone owns is collected', async () => {
    const configMaps = core(consumer, 'namespaces/default/configmaps');
    const small = await shared.get(`${virtual.path(consumer, 'cpuflavors')}/small`);
    const debian = await shared.get(`${virtual.path(consumer, 'images', 'default')}/debian`);
    const ownedBy = (name: string, kind: string, owner: string, uid: unknown, apiVersion = `${group}/v1`) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, ownerReferences: [{ apiVersion, kind, name: owner, uid }] },
    });
    await shared.post(configMaps, ownedBy('of-flavor', 'CpuFlavor', 'small', field(small, 'metadata', 'uid')));
    await shared.post(configMaps, ownedBy('of-image', 'Image', 'debian', field(debian, 'metadata', 'uid')));
    for (const turn of ['first', 'second']) {
      const gone = 'dddddddd-0000-4000-8000-000000000000';
      await shared.post(configMaps, ownedBy(turn, 'ConfigMap', 'gone', gone, 'v1'));
      await eventually(
        async () => expect((await shared.requests.send({ path: `${configMaps}/${turn}` })).status).toBe(404),
        patient,
      );
    }
    expect(namesOf(await shared.get(configMaps))).toEqual(expect.arrayContaining(['of-flavor', 'of-image']));
    // In the foreground: nothing waits for the virtual owner.
    await shared.requests.must({
      method: 'DELETE',
      path: `${configMaps}/of-flavor`,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' },
    });
    await eventually(
      async () => expect((await shared.requests.send({ path: `${configMaps}/of-flavor` })).status).toBe(404),
      patient,
    );
    await expectProviderUntouched();
  }, 120_000);

  test('a namespace with virtual objects is deleted, and the objects stay at the provider', async () => {
    const extra = core('provider', 'namespaces');
    if ((await shared.requests.send({ path: `${extra}/extra` })).status === 404)
      await shared.post(extra, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'extra' } });
    const provided = virtual.path('provider', 'images', 'extra');
    await eventually(() => shared.post(provided, object('Image', 'alpine')), patient);
    await shared.post(core(consumer, 'namespaces'), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'extra' },
    });
    await eventually(async () => {
      expect(namesOf(await shared.get(virtual.path(consumer, 'images', 'extra')))).toEqual(['alpine']);
    }, patient);
    await shared.remove(core(consumer, 'namespaces/extra'));
    await eventually(
      async () => expect((await shared.requests.send({ path: core(consumer, 'namespaces/extra') })).status).toBe(404),
      patient,
    );
    expect(namesOf(await shared.get(provided))).toEqual(['alpine']);
    expect((await shared.requests.send({ path: `${virtual.path(consumer, 'images', 'extra')}/alpine` })).status).toBe(
      404,
    );
    await shared.remove(`${provided}/alpine`);
  }, 120_000);

  test('the workspace is deleted, and the objects stay at the provider', async () => {
    const path = `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${consumer}`;
    await shared.remove(path);
    await eventually(async () => expect((await shared.requests.send({ path })).status).toBe(404), patient);
    await expectProviderUntouched();
  }, 120_000);
});
