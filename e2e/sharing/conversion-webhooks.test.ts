import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema } from '@multiplane/testing';
import { GaugeConverter } from '../harness/gauge-converter.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import { webhooksHere } from '../harness/webhook-server.ts';
import { field } from '../harness/workspaces.ts';

/*
 * A schema whose versions a webhook of its provider converts, bound on the provider's shard and on another. In the
 * reference such webhooks do not work.
 */
let shared: SharedApis;
let converter: GaugeConverter;

beforeAll(async () => {
  shared = await SharedApis.start({ flags: webhooksHere });
  await shared.nearAndFar();
  converter = await GaugeConverter.start();
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
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { ...converter.clientConfig } },
  };
  await shared.addSchema(schema);
  await shared.offer(apiExport('gauges', ['v1.gauges.example.dev']));
  for (const consumer of ['near', 'far']) await shared.bind(consumer, 'gauges');
}, 180_000);

afterAll(async () => {
  await converter?.[Symbol.asyncDispose]();
  await shared?.[Symbol.asyncDispose]();
});

const gauges = (consumer: string, version: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/example.dev/${version}/gauges${name === '' ? '' : `/${name}`}`;
const gauge = (version: string, name: string, spec: object): object => ({
  apiVersion: `example.dev/${version}`,
  kind: 'Gauge',
  metadata: { name },
  spec,
});

test("a webhook of the provider converts the objects of consumers, near and far, and for the provider's view", async () => {
  for (const consumer of ['near', 'far']) {
    await shared.post(gauges(consumer, 'v1'), gauge('v1', `cold-${consumer}`, { celsius: 0 }));
    await shared.post(gauges(consumer, 'v2'), gauge('v2', `warm-${consumer}`, { kelvin: 300 }));
    expect(field(await shared.get(gauges(consumer, 'v2', `cold-${consumer}`)), 'spec')).toEqual({ kelvin: 273 });
    expect(field(await shared.get(gauges(consumer, 'v1', `warm-${consumer}`)), 'spec')).toEqual({ celsius: 27 });
    expect(converter.batches.flat()).toContain(`cold-${consumer}`);
  }
  const provider = shared.clusters.get('provider');
  const items = field(
    await shared.get(`/services/apiexport/${provider}/gauges/clusters/*/apis/example.dev/v2/gauges`),
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
  await shared.post(gauges('far', 'v1'), gauge('v1', 'lost', { celsius: 1 }));
  converter.refusal = 'too cold';
  try {
    const answer = await shared.requests.send({ path: gauges('far', 'v2', 'lost') });
    expect([answer.status, field(answer.json as Json, 'message')]).toEqual([500, expect.stringContaining('too cold')]);
    expect(field(await shared.get(gauges('far', 'v1', 'lost')), 'spec')).toEqual({ celsius: 1 });
  } finally {
    converter.refusal = undefined;
  }
}, 60_000);
