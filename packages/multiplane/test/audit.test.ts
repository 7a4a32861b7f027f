import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { embedCacheServer } from '@multiplane/cache-server';
import { apiResourceSchema, eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { embedVirtualWorkspaces } from '@multiplane/virtual-workspaces';

interface AuditEvent {
  readonly requestURI: string;
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestObject?: { readonly data?: unknown };
}

/** All servers in one process have one audit log. */
let folder: TempDir;
let shard: InProcessShard;

beforeAll(async () => {
  folder = await TempDir.create('audit-of-all');
  const policy = folder.join('policy.yaml');
  const rules = '[{level: None, nonResourceURLs: ["/readyz*"]}, {level: Request, omitStages: [RequestReceived]}]';
  writeFileSync(policy, `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ${rules}\n`);
  shard = await InProcessShard.start(
    [
      '--storage-backend=memory',
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${folder.join('audit.log')}`,
      '--audit-log-mode=blocking',
    ],
    undefined,
    [embedCacheServer({ version: 'test', storage: 'memory' }), embedVirtualWorkspaces({ version: 'test' })],
  );
}, 120_000);
afterAll(async () => {
  await shard?.[Symbol.asyncDispose]();
  await folder?.remove();
});

/** Stages of the events whose URI contains a text. */
const stages = (part: string): string[] =>
  readFileSync(folder.join('audit.log'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ requestURI }) => requestURI.includes(part))
    .map(({ stage, verb, user, requestURI }) => `${stage} ${verb} ${user.username} ${requestURI}`);

test('a request that virtual workspaces pass on to the shard has one event, with the URI of the client', async () => {
  const path = '/services/apiexport/root/tenancy.kcp.io/clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces?limit=7';
  await eventually(() => shard.transport.json({ method: 'GET', path }));
  const complete = `ResponseComplete list shard-admin ${path}`;
  await eventually(() => expect(stages('limit=7').filter((stage) => stage.endsWith(path))).toContain(complete));
  expect(stages('limit=7').filter((event) => event !== complete)).toEqual([]);
});

test('a request for a virtual resource has one event', async () => {
  const group = 'cloud.example.com';
  const spec = { type: 'object' as const };
  const post = (kind: string, path: string, object: object): Promise<unknown> => {
    const apiVersion = path.split('/').slice(2, 4).join('/');
    const body = JSON.stringify({ apiVersion, kind, ...object });
    const send = () => shard.transport.json({ method: 'POST', path: `/clusters/${path}`, body });
    return eventually(send);
  };
  const get = async (path: string): Promise<Record<string, Record<string, unknown> | undefined>> =>
    (await shard.transport.json({ method: 'GET', path: `/clusters/${path}` })) as never;
  for (const name of ['provider', 'consumer'])
    await post('Workspace', 'root/apis/tenancy.kcp.io/v1alpha1/workspaces', { metadata: { name } });
  const schema = apiResourceSchema({ group, plural: 'flavors', kind: 'Flavor', scope: 'Cluster', spec });
  await post('APIResourceSchema', 'root:provider/apis/apis.kcp.io/v1alpha1/apiresourceschemas', schema);
  const names = { plural: 'flavors', singular: 'flavor', kind: 'Flavor', listKind: 'FlavorList' };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
  await post('CustomResourceDefinition', 'root:provider/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `flavors.${group}` },
    spec: { group, scope: 'Cluster', names, versions },
  });
  await post('CachedResource', 'root:provider/apis/cache.kcp.io/v1alpha1/cachedresources', {
    metadata: { name: 'flavors' },
    spec: { group, version: 'v1', resource: 'flavors' },
  });
  await post('CachedResourceEndpointSlice', 'root:provider/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices', {
    metadata: { name: 'flavors' },
    spec: { cachedResource: { name: 'flavors' }, export: { name: 'flavors' } },
  });
  const identityHash = await eventually(async () => {
    const { status } = await get('root:provider/apis/cache.kcp.io/v1alpha1/cachedresources/flavors');
    expect(status?.['phase']).toBe('Ready');
    return status?.['identityHash'];
  });
  const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' };
  const virtual = { reference, identityHash };
  await post('APIExport', 'root:provider/apis/apis.kcp.io/v1alpha2/apiexports', {
    metadata: { name: 'flavors' },
    spec: { resources: [{ name: 'flavors', group, schema: schema.metadata.name, storage: { virtual } }] },
  });
  await post('APIBinding', 'root:consumer/apis/apis.kcp.io/v1alpha2/apibindings', {
    metadata: { name: 'flavors' },
    spec: { reference: { export: { path: 'root:provider', name: 'flavors' } } },
  });
  const path = `/clusters/root:consumer/apis/${group}/v1/flavors?limit=9`;
  await eventually(() => shard.transport.json({ method: 'GET', path }));
  const complete = `ResponseComplete list shard-admin ${path}`;
  await eventually(() => expect(stages('flavors?limit=9')).toContain(complete));
  expect(stages('limit=9').filter((event) => event !== complete)).toEqual([]);
}, 120_000);
