import { expect, test } from '@jest/globals';
import { asLogicalClusterName } from '@multiplane/apimachinery';
import { completed } from '@multiplane/apiserver';
import { limitAnnotations, limitNames, type DefaultLimits, type LimitName } from '@multiplane/apis';
import { connectionHeader } from '@multiplane/component-base';
import type { Handler, RequestContext } from '@multiplane/generic-server';
import { FakeClock } from '@multiplane/testing';
import { ClusterActivity } from './cluster-activity.ts';
import { withRequestLimits } from './request-limits.ts';
import { WorkspaceLimits } from './workspace-limits.ts';

const cluster = asLogicalClusterName('full');
const other = asLogicalClusterName('other');

/** A shard whose requests stay open until the test ends them. */
class Requests {
  readonly clock = new FakeClock();
  readonly activity = new ClusterActivity({ clock: this.clock });
  readonly #handle: Handler;
  #next: Promise<void> = completed;

  constructor(limits: Partial<Record<LimitName, number>>) {
    const annotations = Object.fromEntries(
      Object.entries(limits).map(([name, max]) => [limitAnnotations[name as LimitName], String(max)]),
    );
    const object = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { annotations } };
    const defaults = Object.fromEntries(limitNames.map((name) => [name, 0])) as DefaultLimits;
    this.#handle = withRequestLimits(
      {
        activity: this.activity,
        clock: this.clock,
        limits: new WorkspaceLimits({ defaults }, { clusters: { object: () => object } }),
      },
      () => this.#next,
    );
  }

  /** A request that is answered at once. Throws what the client gets. */
  send(
    connection = '1',
    from: { readonly group?: string; readonly verb?: string; readonly in?: typeof cluster } = {},
  ): void {
    this.#next = completed;
    void this.#handle(this.#context(connection, from));
  }

  /** A request that stays open; returns what ends it. */
  open(connection: string, from: Parameters<Requests['send']>[1] = {}): () => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#next = promise;
    const handled = this.#handle(this.#context(connection, from));
    return () => {
      resolve();
      return handled;
    };
  }

  #context(
    connection: string,
    { group, verb = 'get', in: where = cluster }: NonNullable<Parameters<Requests['send']>[1]>,
  ): RequestContext {
    return {
      info: { cluster: where, verb },
      exchange: { headers: { [connectionHeader]: connection } },
      user: { name: 'user', groups: group === undefined ? [] : [group] },
    } as unknown as RequestContext;
  }
}

test('the connections with an open request in a workspace are limited, idle ones and those of others are not', async () => {
  const requests = new Requests({ connections: 2 });
  const connections = (): number | undefined => requests.activity.peek(cluster)?.connections.size;
  const ends = [requests.open('1', { verb: 'watch' }), requests.open('2')];
  expect(connections()).toBe(2);
  expect(() => requests.send('3')).toThrow(
    expect.objectContaining({
      code: 429,
      message: expect.stringContaining(
        'has reached its connections limit, used: 2, requested: 1, limited: 2; an administrator of the installation can raise it by the annotation limits.multiplane.dev/max-connections',
      ),
    }),
  );
  // A connection that counts already may have any number of requests.
  const second = requests.open('1');
  requests.send('2');
  requests.send('3', { in: other });
  expect(connections()).toBe(2);
  await ends[0]?.();
  expect(connections()).toBe(2);
  await second();
  expect(connections()).toBe(1);
  requests.send('3');
  expect(connections()).toBe(1);
  await ends[1]?.();
  expect(connections()).toBe(0);
});

test('connections of the system count and are not refused', async () => {
  const requests = new Requests({ connections: 1 });
  const ends = ['1', '2'].map((connection) => requests.open(connection, { group: 'system:masters' }));
  expect(requests.activity.peek(cluster)?.connections.size).toBe(2);
  expect(() => requests.send('3')).toThrow('used: 2, requested: 1, limited: 1');
  for (const end of ends) await end();
  requests.send('3');
});

test('requests per second: five seconds of them may arrive at once, then as many as the limit', async () => {
  const requests = new Requests({ requestsPerSecond: 10 });
  const served = (): number => {
    for (let count = 0; ; count++)
      try {
        requests.send();
      } catch (error) {
        expect(error).toMatchObject({
          code: 429,
          details: { retryAfterSeconds: 1 },
          message: expect.stringContaining('requests per second limit, used: 10, requested: 1, limited: 10'),
        });
        return count;
      }
  };
  expect(served()).toBe(50);
  await requests.clock.advance(1_000);
  expect(served()).toBe(10);
  await requests.clock.advance(50);
  expect(served()).toBe(0);
  await requests.clock.advance(50);
  expect(served()).toBe(1);
  await requests.clock.advance(3_600_000);
  expect(served()).toBe(50);
  for (let i = 0; i < 100; i++) requests.send('1', { group: 'system:masters' });
  // What was refused is not used.
  const rate = requests.activity.peek(cluster)?.requestRate;
  expect(rate?.perSecond(requests.clock.monotonic())).toBe(150);
  await requests.clock.advance(2_000);
  expect(rate?.perSecond(requests.clock.monotonic())).toBe(0);
});
