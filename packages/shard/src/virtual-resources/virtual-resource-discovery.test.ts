import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition, VirtualStorage } from '@multiplane/apis';
import type { ServedApis } from '@multiplane/apiserver';
import type { RequestContext } from '@multiplane/generic-server';
import { FakeClock } from '@multiplane/testing';
import { VirtualResourceDiscovery } from './virtual-resource-discovery.ts';
import { virtualServedApis } from './virtual-served-apis.ts';

const storage = (kind: string): VirtualStorage => ({
  export: { cluster: 'provider' as LogicalClusterName, name: 'wild', path: 'root:provider' },
  exportIdentity: 'e',
  identityHash: '',
  reference: { apiGroup: kind === 'CowboySlice' ? 'wildwest.dev' : 'cache.kcp.io', kind, name: 'cowboys' },
});
const own = storage('CowboySlice');
const cached = storage('CachedResourceEndpointSlice');
const definition = (group = 'wildwest.dev', virtual: VirtualStorage | undefined = own): ResourceDefinition =>
  ({
    group,
    version: 'v1',
    resource: 'cowboys',
    verbs: ['get', 'list', 'watch', 'create', 'delete'],
    subresources: { status: { type: 'object', verbs: ['get', 'update'] }, scale: { type: 'scale', verbs: ['get'] } },
    virtual,
  }) as unknown as ResourceDefinition;
const document = (...verbs: string[]): JsonObject => ({
  resources: [
    { name: 'cowboys', verbs },
    { name: 'cowboys/status', verbs: ['get'] },
    { name: 'horses', verbs: ['get'] },
  ],
});

let clock: FakeClock;
let asked: string[];
let answer: () => JsonObject | Promise<JsonObject>;
let discovery: VirtualResourceDiscovery;
beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  answer = () => document('get', 'list');
  discovery = new VirtualResourceDiscovery(
    { ttl: 10_000, retryInterval: 1_000 },
    {
      clock,
      endpoints: () => ({ urls: [new URL('https://vw')], isExternal: true }),
      document: async (_endpoints, path) => (asked.push(path), answer()),
    },
  );
});
async function verbs(group?: string, virtual = own): Promise<string> {
  const found = await discovery.discover(definition(group, virtual), virtual);
  return `${found.definition.verbs.join(' ')}${found.isCurrent ? '' : ' (last known)'}`;
}

describe('the verbs of a virtual resource', () => {
  test('are those of its endpoint, of subresources too, read once for many consumers', async () => {
    expect(await Promise.all([verbs(), verbs()])).toEqual(['get list', 'get list']);
    const { definition: discovered } = await discovery.discover(definition(), own);
    expect(discovered.subresources['status']?.verbs).toEqual(['get']);
    expect(discovered.subresources['scale']?.verbs).toEqual([]);
    expect(asked).toEqual(['/clusters/*/apis/wildwest.dev/v1']);
  });

  test('are read again when they are old', async () => {
    await verbs();
    answer = () => document('get');
    expect(await verbs()).toBe('get list');
    await clock.advance(10_000);
    expect(await verbs()).toBe('get');
  });

  test('of the core group are at another path', async () => {
    expect(await verbs('')).toBe('get list');
    expect(asked).toEqual(['/clusters/*/api/v1']);
  });

  test('stay the last known ones while the endpoint is away, without a wait for it', async () => {
    await verbs();
    answer = () => Promise.reject(new Error('away'));
    await clock.advance(10_000);
    expect(await verbs()).toBe('get list (last known)');
    await clock.advance(1_000);
    // The next read hangs, and no request waits for it.
    const hanging = Promise.withResolvers<JsonObject>();
    answer = () => hanging.promise;
    expect(await verbs()).toBe('get list (last known)');
    expect(await verbs()).toBe('get list (last known)');
    expect(asked).toHaveLength(3);
    hanging.resolve(document('watch'));
    await clock.advance(0);
    expect(await verbs()).toBe('watch');
  });

  test('are none before the first answer, and those of the replication virtual workspace for cached resources', async () => {
    answer = () => Promise.reject(new Error('away'));
    expect(await verbs()).toBe(' (last known)');
    expect(await verbs(undefined, cached)).toBe('get list watch create delete (last known)');
    answer = () => ({ resources: [{ name: 'horses', verbs: ['get'] }] });
    await clock.advance(1_000);
    await verbs();
    await clock.advance(0);
    expect(await verbs()).toBe(' (last known)');
  });
});

describe('discovery of a logical cluster', () => {
  const apis = (...definitions: ResourceDefinition[]): ServedApis => ({
    hash: `hash of ${definitions.length}`,
    definitions: () => definitions,
    isBuiltInGroup: () => false,
  });
  const warnings: string[] = [];
  const context = { warn: (text: string) => void warnings.push(text) } as unknown as RequestContext;
  beforeEach(() => void warnings.splice(0));

  test('without virtual resources is left as it is', () => {
    const without = apis({ ...definition(), virtual: undefined });
    const served = virtualServedApis({ servedApisOf: () => without, discovery });
    expect(served(context)).toBe(without);
    expect(asked).toEqual([]);
  });

  test('has the verbs of endpoints, a hash that depends on them, and a warning while one is away', async () => {
    const served = virtualServedApis({ servedApisOf: () => apis(definition()), discovery });
    const first = await served(context);
    expect(first?.definitions()[0]?.verbs).toEqual(['get', 'list']);
    answer = () => document('get');
    await clock.advance(10_000);
    const second = await served(context);
    expect(second?.definitions()[0]?.verbs).toEqual(['get']);
    expect(second?.hash).not.toBe(first?.hash);
    expect(warnings).toEqual([]);
    answer = () => Promise.reject(new Error('away'));
    await clock.advance(10_000);
    const third = await served(context);
    expect(third?.hash).toBe(second?.hash);
    expect(warnings).toEqual(['Some resources are temporarily unavailable: [cowboys.wildwest.dev].']);
  });
});
