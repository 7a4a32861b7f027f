import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { Exchange } from '@multiplane/apiserver';
import type { ShardConnection } from '@multiplane/virtual-framework';
import { ConsumerBindings } from './consumer-bindings.ts';
import { FakeInformer } from './test-support/fake-informer.ts';
import { bindingOf } from './test-support/shared-apis.ts';

const parent = { socket: {}, signal: new AbortController().signal } as unknown as Exchange;
const consumer = 'consumer' as LogicalClusterName;

function shardWith(status: number, body: unknown): { shard: ShardConnection; asked: string[] } {
  const asked: string[] = [];
  const forward: ShardConnection['forward'] = (exchange, { url, user }) => {
    asked.push(`${user?.name ?? 'itself'} ${exchange.method} ${url}`);
    exchange.respond(status, JSON.stringify(body));
    return Promise.resolve();
  };
  return { shard: { forward }, asked };
}

const nameOfFirst = (bindings: readonly { readonly metadata: { readonly name?: string } }[]): string | undefined =>
  bindings[0]?.metadata.name;

test('a binding that is known is enough', async () => {
  const { shard, asked } = shardWith(500, {});
  const bindings = new ConsumerBindings({ informer: new FakeInformer(bindingOf()), shard });
  expect(await bindings.decide(parent, consumer, nameOfFirst)).toBe('things');
  expect(asked).toEqual([]);
});

test('before there is none, the shard is asked', async () => {
  const { shard, asked } = shardWith(200, { items: [bindingOf()] });
  const bindings = new ConsumerBindings({ informer: new FakeInformer(), shard });
  expect(await bindings.decide(parent, consumer, nameOfFirst)).toBe('things');
  expect(asked).toEqual(['itself GET /clusters/consumer/apis/apis.kcp.io/v1alpha2/apibindings']);
});

test('an informer that is never behind is believed', async () => {
  const bindings = new ConsumerBindings({ informer: new FakeInformer() });
  expect(await bindings.decide(parent, consumer, nameOfFirst)).toBeUndefined();
});

test('a logical cluster that is elsewhere has no bindings; a shard that fails says nothing of them', async () => {
  const elsewhere = new ConsumerBindings({ informer: new FakeInformer(), ...shardWith(404, {}) });
  expect(await elsewhere.decide(parent, consumer, nameOfFirst)).toBeUndefined();
  const failing = new ConsumerBindings({ informer: new FakeInformer(), ...shardWith(503, {}) });
  await expect(failing.decide(parent, consumer, nameOfFirst)).rejects.toMatchObject({ code: 503 });
});
