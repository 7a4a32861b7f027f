import { describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceRequest, ResourceResolver } from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import { parseRequestPath, resolveRequestInfo, type Exchange, type RequestContext } from '@multiplane/generic-server';
import { VirtualResourceBackends } from './virtual-resource-backends.ts';
import { VirtualResourceEndpoints } from './virtual-resource-endpoints.ts';
import { VirtualResourceProxy } from './virtual-resource-proxy.ts';
import { eventually } from '@multiplane/testing';

const slice = (status: unknown): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResourceEndpointSlice',
  metadata: { name: 'cowboys' },
  ...(status === undefined ? {} : { status }),
});
const at = (...urls: string[]): KubeObject => slice({ endpoints: urls.map((url) => ({ url })) });
const own = 'https://shard-1.example:7443';

describe('a request for a virtual resource', () => {
  const virtual = {
    export: { cluster: 'provider' as LogicalClusterName, name: 'cowboys', path: 'root:provider' },
    exportIdentity: 'e'.repeat(64),
    identityHash: 'c'.repeat(64),
    reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'cowboys' },
  };

  function proxied(
    found: KubeObject | undefined,
    resolver: Pick<ResourceResolver, 'whenReplaced'> = {},
    exported?: KubeObject,
  ) {
    const requests: { readonly user: string; readonly url: string }[] = [];
    const informer = ({ resource }: GroupVersionResource) => ({
      get: () => (resource === 'apiexports' ? exported : found),
      list: () => [],
      addHandlers: () => () => {},
    });
    const endpoints = new VirtualResourceEndpoints(
      { shardName: 'shard-1', virtualWorkspaceUrl: () => own, allowsExternal: false },
      { globalInformers: { informer } as unknown as InformerSource },
    );
    const again: { current?: () => Promise<void> } = {};
    const backends = new VirtualResourceBackends({});
    const proxy = new VirtualResourceProxy({ endpoints, backends, resolver });
    backends.adopt({
      pathPrefix: '/services/',
      runnables: [],
      handle: async () => {},
      dispatch: async (exchange, user, url) => {
        requests.push({ user: user.name, url });
        if (again.current !== undefined) return again.current();
        if (url.includes('requiredLabels='))
          return exchange.respond(200, JSON.stringify({ metadata: { labels: { tier: 'gold' } } }));
        if (!url.includes('watch=true')) return;
        exchange.start(200);
        exchange.write(Buffer.from('event'));
        await new Promise((resolve) => exchange.signal.addEventListener('abort', resolve));
      },
    });
    return { proxy, requests, again };
  }

  function requestFor(path: string): ResourceRequest & { readonly sent: readonly string[] } {
    const info = resolveRequestInfo('GET', parseRequestPath(path), 'consumer' as LogicalClusterName);
    const user = { name: 'alice', uid: '', groups: [], extra: {} };
    const sent: string[] = [];
    const exchange = {
      url: path,
      headers: {},
      signal: new AbortController().signal,
      respond: (status: number) => sent.push(`respond ${status}`),
      start: () => sent.push('start'),
      write: (chunk: Buffer) => sent.push(chunk.toString()),
      end: () => sent.push('end'),
      destroy: () => sent.push('reset'),
    } as unknown as Exchange;
    const context = { exchange, info, user, signal: exchange.signal } as unknown as RequestContext;
    const definition = { group: 'wildwest.dev', resource: 'cowboys' } as unknown as ResourceRequest['definition'];
    const cluster = 'consumer' as LogicalClusterName;
    return { context, definition, cluster, namespace: '', name: '', subresource: '', sent };
  }

  test('goes on to the endpoint of this shard, for its logical cluster, in the name of the caller', async () => {
    const { proxy, requests } = proxied(at('https://other/x', `${own}/services/replication/provider/cowboys`));
    await proxy.handle(requestFor('/apis/wildwest.dev/v1/cowboys?limit=5'), virtual);
    const url = `/services/replication/provider/cowboys:${'e'.repeat(64)}/clusters/consumer/apis/wildwest.dev/v1/cowboys?limit=5`;
    expect(requests).toEqual([{ user: 'alice', url }]);
  });

  test('is not forwarded without end to an endpoint that leads back to the shard', async () => {
    const { proxy, requests, again } = proxied(at(`${own}/services/apiexport/provider/cowboys`));
    const request = requestFor('/apis/wildwest.dev/v1/cowboys');
    again.current = () => proxy.handle(request, virtual);
    await expect(proxy.handle(request, virtual)).rejects.toMatchObject({ code: 500 });
    expect(requests).toHaveLength(8);
  });

  test('is answered before this shard has published its endpoint when the slice is valid on every shard', async () => {
    const conditions = ['ResourceValid', 'APIExportValid', 'PartitionValid'].map((type) => ({ type, status: 'True' }));
    const { proxy, requests } = proxied(slice({ conditions }));
    await proxy.handle(requestFor('/apis/wildwest.dev/v1/cowboys/a'), virtual);
    expect(requests[0]?.url).toContain('/services/replication/provider/cowboys:');
    const { proxy: partitioned } = proxied(slice({ conditions, shardSelector: 'region=north' }));
    await expect(partitioned.handle(requestFor('/apis/wildwest.dev/v1/cowboys/a'), virtual)).rejects.toMatchObject({
      code: 503,
    });
  });

  test('is refused if the object does not have the labels that it requires, which a foreign endpoint ignores', async () => {
    const { proxy, requests } = proxied(at(`${own}/services/replication/provider/cowboys`));
    const visible = requestFor('/apis/wildwest.dev/v1/cowboys/a?requiredLabels=tier%3Dgold');
    await proxy.handle(visible, virtual);
    expect([visible.sent, requests.length]).toEqual([['respond 200'], 2]);
    const hidden = requestFor('/apis/wildwest.dev/v1/cowboys/a?requiredLabels=tier%3Dsilver');
    await expect(proxy.handle(hidden, virtual)).rejects.toMatchObject({ code: 404 });
    expect(hidden.sent).toEqual([]);
  });

  test('is a watch that ends properly when its binding goes', async () => {
    let replace = (): void => {};
    const { proxy, requests } = proxied(at(`${own}/services/replication/provider/cowboys`), {
      whenReplaced: (_cluster, _definition, onReplaced) => {
        replace = onReplaced;
        return () => {};
      },
    });
    const request = requestFor('/apis/wildwest.dev/v1/cowboys?watch=true');
    const served = proxy.handle(request, virtual);
    await eventually(async () => expect(requests).toHaveLength(1));
    replace();
    await served;
    expect(request.sent).toEqual(['start', 'event', 'end']);
  });

  const condition = (type: string, status: string): JsonObject => ({ type, status });
  const invalid: KubeObject = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'cowboys' },
    status: { conditions: [condition('VirtualStorageValid', 'False')] },
  };
  const subject = 'the virtual resource cowboys.wildwest.dev of APIExport root:provider:cowboys';
  test.each<[string, KubeObject | undefined, KubeObject | undefined]>([
    ['the slice is missing', undefined, invalid],
    ['the slice is not valid', slice({ conditions: [condition('ResourceValid', 'False')] }), undefined],
    ['the slice has endpoints of another shard only', at('https://other/x'), undefined],
    ['the slice has no URL', slice({ endpoints: [{}] }), undefined],
  ])('is refused with a text for consumers, who need not retry: %s', async (_what, found, exported) => {
    const { proxy } = proxied(found, {}, exported);
    await expect(proxy.handle(requestFor('/apis/wildwest.dev/v1/cowboys'), virtual)).rejects.toMatchObject({
      code: 503,
      details: undefined,
      message: expect.stringMatching(
        `^${subject} is not available: its provider has not set it up correctly; please contact the owner`,
      ),
    });
  });

  test.each<[string, KubeObject | undefined]>([
    ['the slice has not arrived', undefined],
    ['nobody has looked at the slice', slice(undefined)],
  ])('is refused for a moment: %s', async (_what, found) => {
    const { proxy } = proxied(found);
    await expect(proxy.handle(requestFor('/apis/wildwest.dev/v1/cowboys'), virtual)).rejects.toMatchObject({
      code: 503,
      details: { retryAfterSeconds: 1 },
      message: `${subject} is not available yet`,
    });
  });
});
