import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import {
  defaultIdentityHeaderNames,
  resolveRequestInfo,
  parseRequestPath,
  type Exchange,
  type RequestContext,
} from '@multiplane/apiserver';
import { FakeClock } from '@multiplane/component-base';
import { HeaderFilter, UpstreamError, type ForwardTarget } from '@multiplane/reverse-proxy';
import { endpointUrl } from './endpoint-url.ts';
import { VirtualResourceDiscovery } from './virtual-resource-discovery.ts';
import { VirtualResourceProxy } from './virtual-resource-proxy.ts';

const slice = (status: unknown): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResourceEndpointSlice',
  metadata: { name: 'cowboys' },
  ...(status === undefined ? {} : { status }),
});
const at = (...urls: string[]): KubeObject => slice({ endpoints: urls.map((url) => ({ url })) });
const cowboys = { group: 'wildwest.dev', resource: 'cowboys' };
const own = 'https://shard-1.example:7443';

describe('the endpoint of a virtual resource', () => {
  test('is the one that belongs to this shard', () => {
    const others = ['https://shard-2.example:7443/services/x/y', `${own}0/services/x/y`];
    expect(endpointUrl(at(...others, `${own}/services/x/y`), own, cowboys).href).toBe(`${own}/services/x/y`);
  });

  test.each([
    [
      'nothing yet',
      undefined,
      'error resolving resource cowboys.wildwest.dev; please contact APIExport owner to resolve',
    ],
    [
      'no endpoints',
      { endpoints: [] },
      'error resolving resource cowboys.wildwest.dev; please contact APIExport owner to resolve',
    ],
    ['a text', 'ready', 'error resolving resource: status field is of a wrong type'],
    ['no list', { endpoints: 'x' }, 'error resolving resource: endpoints field is of a wrong type'],
    ['no object', { endpoints: ['x'] }, 'error resolving resource: endpoint at index 0 is not an object'],
    ['no url', { endpoints: [{ url: own }, {}] }, 'error resolving resource: missing url in endpoint at index 1'],
    [
      'another shard',
      { endpoints: [{ url: 'https://other/x' }] },
      `error resolving resource: no URLs match prefix "${own}"`,
    ],
    [
      'two of them',
      { endpoints: [{ url: `${own}/a` }, { url: `${own}/b` }] },
      `error resolving resource: ambiguous URLs [${own}/a ${own}/b] with prefix "${own}"`,
    ],
  ])('is told to be missing by what is wrong with it: %s', (_what, status, message) => {
    expect(() => endpointUrl(slice(status), own, cowboys)).toThrow(`Internal error occurred: ${message}`);
  });
});

describe('a request for a virtual resource', () => {
  const contextOf = (url: string): RequestContext => {
    const target = parseRequestPath(url);
    return {
      exchange: { url, method: 'GET', headers: {} } as unknown as Exchange,
      info: resolveRequestInfo('GET', target, target.cluster),
      user: { name: 'ann', uid: '7', groups: ['team'], extra: { scope: ['x'] } },
    } as unknown as RequestContext;
  };
  const proxyTo = (forward: (target: ForwardTarget) => Promise<void>): VirtualResourceProxy =>
    new VirtualResourceProxy(
      { virtualWorkspaceUrl: () => own, identityHeaders: defaultIdentityHeaderNames },
      {
        proxy: { forward: (_exchange, target) => forward(target) },
        dropHeaders: new HeaderFilter({ names: ['authorization'] }),
      },
    );

  test('goes on to the endpoint for its own logical cluster, in the name of its user with the rights of the shard', async () => {
    const sent: ForwardTarget[] = [];
    const proxy = proxyTo(async (target) => void sent.push(target));
    await proxy.forward(
      contextOf('/clusters/abc/apis/wildwest.dev/v1/namespaces/d/cowboys?watch=1&labelSelector=a%3Db'),
      at(`${own}/services/replication/x/y`),
    );
    expect(sent).toMatchObject([
      {
        url: new URL(`${own}/services/replication/x/y`),
        path: '/clusters/abc/apis/wildwest.dev/v1/namespaces/d/cowboys?watch=1&labelSelector=a%3Db',
        longRunning: true,
        headers: ['X-Remote-User', 'ann', 'X-Remote-Uid', '7', 'X-Remote-Group', 'system:masters'],
      },
    ]);
  });

  test('is refused with 503 when nobody answers there', async () => {
    const proxy = proxyTo(() => Promise.reject(new UpstreamError('unreachable')));
    await expect(proxy.forward(contextOf('/clusters/abc/apis/wildwest.dev/v1/cowboys'), at(own))).rejects.toMatchObject(
      {
        code: 503,
      },
    );
  });
});

describe('the verbs of a virtual resource', () => {
  const document: JsonObject = {
    resources: [
      { name: 'cowboys', verbs: ['get', 'list', 'watch'] },
      { name: 'cowboys/status', verbs: null },
      { name: 'horses', verbs: ['get'] },
    ],
  };
  const version = { group: 'wildwest.dev', version: 'v1' };

  test('are what its endpoint says, asked once for many', async () => {
    const clock = new FakeClock();
    const asked: string[] = [];
    const discovery = new VirtualResourceDiscovery(
      { ttl: 1_000 },
      { clock, get: async (url) => (asked.push(url.href), document) },
    );
    const endpoint = new URL(`${own}/services/x/y`);
    const verbs = await discovery.verbs(endpoint, version, 'cowboys');
    expect(verbs?.resource).toEqual(['get', 'list', 'watch']);
    expect([...(verbs?.subresources ?? [])]).toEqual([['status', []]]);
    expect(await discovery.verbs(endpoint, version, 'sheriffs')).toBeUndefined();
    expect(asked).toEqual([`${own}/services/x/y/clusters/*/apis/wildwest.dev/v1`]);
    await clock.advance(1_001);
    await discovery.verbs(endpoint, version, 'horses');
    expect(asked).toHaveLength(2);
  });

  test('are asked for again after a failure', async () => {
    let failures = 1;
    const discovery = new VirtualResourceDiscovery(
      { ttl: 1_000 },
      {
        clock: new FakeClock(),
        get: () => (failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(document)),
      },
    );
    await expect(discovery.verbs(new URL(own), version, 'cowboys')).rejects.toThrow('away');
    expect((await discovery.verbs(new URL(own), version, 'cowboys'))?.resource).toContain('list');
  });
});
