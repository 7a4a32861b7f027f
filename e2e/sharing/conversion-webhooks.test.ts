import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually, testCertificates } from '@multiplane/testing';
import { startControlPlane, topologyName, type ControlPlane } from '../harness/control-plane.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

/*
 * A schema whose versions a webhook of its provider converts, bound on the provider's shard and on another. In the
 * reference such webhooks do not work.
 */
const apis = 'apis/apis.kcp.io';
const isSharded = topologyName === 'sharded';
const patient = { timeout: 30_000 };

let cluster: ControlPlane;
let requests: Requests;
let hook: Server;
/** Names of what the webhook was asked to convert. */
const asked: string[] = [];
let refusal: string | undefined;

beforeAll(async () => {
  cluster = await startControlPlane({ flags: ['--webhook-allowed-networks=127.0.0.0/8'] });
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'provider', { shard: 'root' });
  await createWorkspace(admin, 'root', 'near', { shard: 'root' });
  await createWorkspace(admin, 'root', 'far', { shard: isSharded ? 'shard-1' : 'root' });
  admin.close();
  const { authorityPem, server: serving } = await testCertificates('gauges');
  hook = createServer({ cert: serving.certificatePem, key: serving.privateKeyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(review(JSON.parse(Buffer.concat(chunks).toString()) as Review)));
    });
  });
  hook.listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const version = (name: string, property: string): JsonObject => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { [property]: { type: 'integer' } } } },
    },
  });
  const schema = apiResourceSchema({
    plural: 'gauges',
    scope: 'Cluster',
    versions: [version('v1', 'celsius'), version('v2', 'kelvin')],
  });
  (schema['spec'] as JsonObject)['conversion'] = {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: {
        url: `https://127.0.0.1:${(hook.address() as AddressInfo).port}/convert`,
        caBundle: Buffer.from(authorityPem).toString('base64'),
      },
    },
  };
  await post(`/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`, schema);
  await post(`/clusters/root:provider/${apis}/v1alpha2/apiexports`, apiExport('gauges', ['v1.gauges.example.dev']));
  for (const consumer of ['near', 'far']) await bind(consumer);
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  hook?.closeAllConnections();
  hook?.close();
  await cluster?.[Symbol.asyncDispose]();
});

interface Gauge {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly celsius?: number; readonly kelvin?: number };
}
interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Gauge[] };
}

function review({ request: { uid, desiredAPIVersion, objects } }: Review): object {
  asked.push(...objects.map(({ metadata }) => metadata.name));
  const convertedObjects = objects.map((object) => {
    const { celsius = 0, kelvin = 0 } = object.spec;
    const spec = desiredAPIVersion.endsWith('v2') ? { kelvin: celsius + 273 } : { celsius: kelvin - 273 };
    return { ...object, apiVersion: desiredAPIVersion, spec };
  });
  const response =
    refusal === undefined
      ? { uid, result: { status: 'Success' }, convertedObjects }
      : { uid, result: { status: 'Failure', message: refusal }, convertedObjects: [] };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response };
}

async function get(path: string): Promise<Json> {
  return (await requests.must({ path })).json as Json;
}
async function post(path: string, body: object): Promise<Json> {
  return (await requests.must({ method: 'POST', path, body })).json as Json;
}
const gauges = (consumer: string, version: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/example.dev/${version}/gauges${name === '' ? '' : `/${name}`}`;
const gauge = (version: string, name: string, spec: object): object => ({
  apiVersion: `example.dev/${version}`,
  kind: 'Gauge',
  metadata: { name },
  spec,
});

async function bind(consumer: string): Promise<void> {
  const bindings = `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`;
  await eventually(
    () =>
      post(bindings, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: 'gauges' },
        spec: { reference: { export: { path: 'root:provider', name: 'gauges' } } },
      }),
    patient,
  );
  await eventually(
    async () => expect(field(await get(`${bindings}/gauges`), 'status', 'phase')).toBe('Bound'),
    patient,
  );
}

test("a webhook of the provider converts the objects of consumers, near and far, and for the provider's view", async () => {
  for (const consumer of ['near', 'far']) {
    await post(gauges(consumer, 'v1'), gauge('v1', `cold-${consumer}`, { celsius: 0 }));
    await post(gauges(consumer, 'v2'), gauge('v2', `warm-${consumer}`, { kelvin: 300 }));
    expect(field(await get(gauges(consumer, 'v2', `cold-${consumer}`)), 'spec')).toEqual({ kelvin: 273 });
    expect(field(await get(gauges(consumer, 'v1', `warm-${consumer}`)), 'spec')).toEqual({ celsius: 27 });
    expect(asked).toContain(`cold-${consumer}`);
  }
  const workspace = await get('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/provider');
  const provider = field(workspace, 'spec', 'cluster') as string;
  const items = field(
    await get(`/services/apiexport/${provider}/gauges/clusters/*/apis/example.dev/v2/gauges`),
    'items',
  ) as Json[];
  const seen = items.map((item) => [field(item, 'metadata', 'name'), field(item, 'spec', 'kelvin')]);
  expect(seen).toEqual(
    expect.arrayContaining([
      ['cold-near', 273],
      ['warm-near', 300],
    ]),
  );
}, 60_000);

test('what it refuses is refused in its words, and what needs no conversion goes on', async () => {
  await post(gauges('far', 'v1'), gauge('v1', 'lost', { celsius: 1 }));
  refusal = 'too cold';
  try {
    const answer = await requests.send({ path: gauges('far', 'v2', 'lost') });
    expect([answer.status, field(answer.json as Json, 'message')]).toEqual([500, expect.stringContaining('too cold')]);
    expect(field(await get(gauges('far', 'v1', 'lost')), 'spec')).toEqual({ celsius: 1 });
  } finally {
    refusal = undefined;
  }
}, 60_000);
