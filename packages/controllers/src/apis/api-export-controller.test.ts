import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExportEndpointSlices, apiExports, skipEndpointSliceAnnotation, type APIExport } from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { apiExportController } from './api-export-controller.ts';

const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };
const cluster = 'provider' as LogicalClusterName;
const things: KubeObject = { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name: 'things' } };
/** SHA-256 of `key`. */
const hash = '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683';
const secret = (key: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'own', namespace: 'default' },
  data: { key: Buffer.from(key).toString('base64') },
});
const withSecret: KubeObject = { ...things, spec: { identity: { secretRef: { name: 'own', namespace: 'default' } } } };
const shard = (name: string, virtualWorkspaceURL: string): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name },
  spec: { baseURL: `https://${name}`, virtualWorkspaceURL },
});

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
async function start(virtualWorkspaceUrls = false): Promise<void> {
  controller = apiExportController(
    { randomBytes: (size) => Buffer.alloc(size, 7), virtualWorkspaceUrls },
    { informers: api.informers, globalInformers: api.informers, client: api.client, clock, logger: silentLogger },
  );
  await controller.start();
}
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
});
afterEach(() => controller.stop());
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, [controller]);
const status = () => api.get<APIExport>(apiExports, cluster, 'things')?.status;
const slice = () => api.get(apiExportEndpointSlices, cluster, 'things');

describe('an export', () => {
  test('without an identity gets a new key', async () => {
    await start();
    api.put(apiExports, cluster, things);
    await settled();
    expect(api.get(secrets, cluster, 'things', 'kcp-system')).toMatchObject({ stringData: { key: '07'.repeat(32) } });
    expect(api.get<APIExport>(apiExports, cluster, 'things')?.spec?.identity?.secretRef).toEqual({
      name: 'things',
      namespace: 'kcp-system',
    });
  });

  test('whose reference has no name keeps it, and is invalid', async () => {
    await start();
    api.put(apiExports, cluster, { ...things, spec: { identity: { secretRef: {} } } });
    await settled();
    expect(api.get<APIExport>(apiExports, cluster, 'things')?.spec?.identity).toEqual({ secretRef: {} });
    expect(status()?.conditions).toMatchObject([
      { reason: 'IdentityVerificationFailed', message: 'resource name may not be empty' },
    ]);
  });

  test('has the hash of its key and keeps it when the key changes', async () => {
    await start();
    api.put(apiExports, cluster, withSecret);
    await settled();
    expect(status()?.conditions).toMatchObject([{ type: 'IdentityValid', status: 'False' }]);
    api.put(secrets, cluster, secret('key'));
    await settled();
    expect(status()).toMatchObject({ identityHash: hash, conditions: [{ type: 'IdentityValid', status: 'True' }] });
    api.put(secrets, cluster, secret('another'));
    await settled();
    expect(status()?.identityHash).toBe(hash);
    expect(status()?.conditions?.[0]?.message).toContain(`must match status.identityHash "${hash}"`);
  });

  test('gets an endpoint slice, also after its deletion, unless annotated to have none', async () => {
    await start();
    api.put(secrets, cluster, secret('key'));
    api.put(apiExports, cluster, withSecret);
    await settled();
    expect(slice()).toMatchObject({ spec: { export: { name: 'things', path: 'provider' } } });
    api.remove(apiExportEndpointSlices, { cluster, namespace: '', name: 'things' });
    await settled();
    expect(slice()).toBeDefined();
    const annotations = { [skipEndpointSliceAnnotation]: '' };
    api.put(apiExports, cluster, { ...withSecret, metadata: { name: 'silent', annotations } });
    await settled();
    expect(api.get(apiExportEndpointSlices, cluster, 'silent')).toBeUndefined();
  });

  test('shows the URLs of all shards with the feature gate, and removes them without it', async () => {
    api.put(secrets, cluster, secret('key'));
    api.put(shards, 'root' as LogicalClusterName, shard('b', 'https://b/'));
    await start(true);
    api.put(apiExports, cluster, withSecret);
    await settled();
    expect(status()?.virtualWorkspaces).toEqual([{ url: 'https://b/services/apiexport/provider/things' }]);
    api.put(shards, 'root' as LogicalClusterName, shard('a', 'https://a'));
    await settled();
    expect(status()?.virtualWorkspaces?.map(({ url }) => new URL(url).host)).toEqual(['a', 'b']);
    expect(status()?.conditions?.map(({ type }) => type)).toEqual(['IdentityValid', 'VirtualWorkspaceURLsReady']);
    await controller.stop();
    await start(false);
    await settled();
    expect(status()?.virtualWorkspaces).toBeUndefined();
    expect(status()?.conditions?.map(({ type }) => type)).toEqual(['IdentityValid']);
  });
});
