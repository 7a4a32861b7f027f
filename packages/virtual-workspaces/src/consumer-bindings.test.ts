import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { Exchange } from '@multiplane/generic-server';
import type { ShardConnection } from '@multiplane/virtual-framework';
import { ConsumerBindings } from './consumer-bindings.ts';
import { FakeInformer } from '../test/fake-informer.ts';
import { bindingOf } from '../test/shared-apis.ts';

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

test('a cached binding suffices', async () => {
  const { shard, asked } = shardWith(500, {});
  const bindings = new ConsumerBindings({ informer: new FakeInformer(bindingOf()), shard });
  expect(await bindings.evaluate(parent, consumer, nameOfFirst)).toBe('things');
  expect(asked).toEqual([]);
});

test('reads the shard before it reports that there is no binding', async () => {
  const { shard, asked } = shardWith(200, { items: [bindingOf()] });
  const bindings = new ConsumerBindings({ informer: new FakeInformer(), shard });
  expect(await bindings.evaluate(parent, consumer, nameOfFirst)).toBe('things');
  expect(asked).toEqual(['itself GET /clusters/consumer/apis/apis.kcp.io/v1alpha2/apibindings']);
});

test('does not read the shard if the informer never lags', async () => {
  const bindings = new ConsumerBindings({ informer: new FakeInformer() });
  expect(await bindings.evaluate(parent, consumer, nameOfFirst)).toBeUndefined();
});

test('a logical cluster of another shard has no bindings; a failing shard is an error', async () => {
  const remote = new ConsumerBindings({ informer: new FakeInformer(), ...shardWith(404, {}) });
  expect(await remote.evaluate(parent, consumer, nameOfFirst)).toBeUndefined();
  const failing = new ConsumerBindings({ informer: new FakeInformer(), ...shardWith(503, {}) });
  await expect(failing.evaluate(parent, consumer, nameOfFirst)).rejects.toMatchObject({ code: 503 });
});
