import { describe, expect, test } from '@jest/globals';
import { asLogicalClusterName } from '@multiplane/apimachinery';
import { completed } from '@multiplane/apiserver';
import { limitAnnotations, limitNames, type DefaultLimits, type LimitName } from '@multiplane/apis';
import { connectionHeader } from '@multiplane/component-base';
import type { Handler, RequestContext } from '@multiplane/generic-server';
import { eventLoopIdle, FakeClock } from '@multiplane/testing';
import { CelCostLimits } from './cel-cost-limits.ts';
import { ClusterActivity } from './cluster-activity.ts';
import { withRequestLimits } from './request-limits.ts';
import { RequestTurns } from './request-turns.ts';
import { WorkspaceLimits } from './workspace-limits.ts';

const cluster = asLogicalClusterName('full');
const other = asLogicalClusterName('other');
const waitLimitMs = 15_000;

/** A shard whose requests stay open until the test ends them. */
class Requests {
  readonly clock = new FakeClock();
  readonly activity = new ClusterActivity({ clock: this.clock });
  readonly limits: WorkspaceLimits;
  /** Seats of priority and fairness for which requests wait. */
  readonly flowControl = { waiting: 0, pause: () => undefined, resume: () => Promise.resolve() };
  readonly #handle: Handler;
  /** Callbacks of low priority, which run while the event loop has no other work. */
  readonly #idle: (() => void)[] = [];
  #next: Promise<void> = completed;

  constructor(limits: Partial<Record<LimitName, number>>) {
    const annotations = Object.fromEntries(
      Object.entries(limits).map(([name, max]) => [limitAnnotations[name as LimitName], String(max)]),
    );
    const object = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { annotations } };
    const defaults = Object.fromEntries(limitNames.map((name) => [name, 0])) as DefaultLimits;
    this.limits = new WorkspaceLimits({ defaults }, { clusters: { object: () => object } });
    const { activity, clock, flowControl } = this;
    const modules = { activity, clock, limits: this.limits };
    const turns = new RequestTurns(
      { waitLimitMs },
      {
        ...modules,
        flowControl,
        turns: { isEmpty: true, add: (run) => run() },
        idleTurns: { add: (run) => void this.#idle.push(run) },
      },
    );
    this.#handle = withRequestLimits({ ...modules, turns, flowControl }, () => this.#next);
  }

  /** The event loop has nothing else to do until all that waited for that has run. */
  async rest(): Promise<void> {
    for (let run = this.#idle.shift(); run !== undefined; run = this.#idle.shift()) {
      run();
    }
    await eventLoopIdle();
  }

  /** Sends a request; the result changes once it is answered. */
  track(from: SentRequest = {}): { outcome: 'waits' | 'served' | { readonly retryAfterSeconds: number } } {
    const result: ReturnType<Requests['track']> = { outcome: 'waits' };
    const refused = (error: unknown): void => {
      result.outcome = (error as { details: { retryAfterSeconds: number } }).details;
    };
    this.#next = completed;
    try {
      this.#handle(this.#context('1', from)).then(() => (result.outcome = 'served'), refused);
    } catch (error) {
      refused(error);
    }
    return result;
  }

  /** A request that is answered at once. Throws what the client gets. */
  send(connection = '1', from: SentRequest = {}): void {
    this.#next = completed;
    void this.#handle(this.#context(connection, from));
  }

  /** A request that stays open; returns what ends it. */
  open(connection: string, from: SentRequest = {}): () => Promise<void> {
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
    { group, verb = 'get', in: where = cluster, bodyBytes = 0, signal = new AbortController().signal }: SentRequest,
  ): RequestContext {
    return {
      info: { cluster: where, verb },
      exchange: { headers: { [connectionHeader]: connection, 'content-length': String(bodyBytes) } },
      user: { name: 'user', groups: group === undefined ? [] : [group] },
      signal,
    } as unknown as RequestContext;
  }
}

interface SentRequest {
  readonly group?: string;
  readonly verb?: string;
  readonly in?: typeof cluster;
  readonly bodyBytes?: number;
  readonly signal?: AbortSignal;
}

/** A workspace with a limit of ten per second whose burst is used up, while a request of another workspace is in flight. */
function atTheLimit(): { readonly requests: Requests; readonly endOther: () => Promise<void> } {
  const requests = new Requests({ requestsPerSecond: 10 });
  for (let n = 0; n < 50; n++) requests.send();
  return { requests, endOther: requests.open('other', { in: other }) };
}

const countOf = (results: readonly ReturnType<Requests['track']>[], outcome: string): number =>
  results.filter((result) => result.outcome === outcome).length;

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

describe('requests per second', () => {
  test('five seconds of them may arrive at once, then they are served at their rate while others wait', async () => {
    const { requests } = atTheLimit();
    requests.flowControl.waiting = 1;
    const sent = Array.from({ length: 100 }, () => requests.track());
    await requests.rest();
    expect(countOf(sent, 'served')).toBe(0);
    for (let second = 1; second <= 10; second++) {
      await requests.clock.advance(1_000);
      await requests.rest();
      expect(countOf(sent, 'served')).toBe(10 * second);
    }
    expect(requests.clock.timers).toBe(0);
    await requests.clock.advance(3_600_000);
    for (let n = 0; n < 50; n++) requests.send();
    const next = requests.track();
    await requests.rest();
    expect(next.outcome).toBe('waits');
  });

  test('a client with one connection gets its whole rate', async () => {
    const { requests } = atTheLimit();
    requests.flowControl.waiting = 1;
    let served = 0;
    const ask = async (): Promise<void> => {
      for (;;) {
        const sent = requests.track();
        while (sent.outcome === 'waits') await new Promise<void>((resolve) => requests.clock.after(1, resolve));
        served++;
      }
    };
    void ask();
    await requests.clock.advance(2_000);
    expect(served).toBeGreaterThanOrEqual(19);
    expect(served).toBeLessThanOrEqual(21);
  });

  test('beyond the limit a workspace is served while no other waits, and owes nothing for that', async () => {
    const { requests, endOther } = atTheLimit();
    const beside = Array.from({ length: 30 }, () => requests.track());
    expect(countOf(beside, 'waits')).toBe(30);
    await requests.rest();
    expect(countOf(beside, 'served')).toBe(30);
    await endOther();
    // Without requests of others there is nothing to wait for.
    for (let n = 0; n < 1_000; n++) requests.send();
    requests.open('other', { in: other });
    requests.flowControl.waiting = 1;
    const later = Array.from({ length: 10 }, () => requests.track());
    await requests.clock.advance(1_000);
    expect(countOf(later, 'served')).toBe(10);
  });

  test('more than the rate serves in the time that a request may wait is refused, until those that wait are served', async () => {
    const { requests } = atTheLimit();
    requests.flowControl.waiting = 1;
    const sent = Array.from({ length: 200 }, () => requests.track());
    expect(countOf(sent, 'waits')).toBe(150);
    expect(sent[199]?.outcome).toEqual(expect.objectContaining({ retryAfterSeconds: 15 }));
    expect(() => requests.send()).toThrow(
      expect.objectContaining({
        code: 429,
        message: expect.stringContaining('requests per second limit, used: 10, requested: 1, limited: 10'),
      }),
    );
    // A neighbour is not affected, nor is what the system asks.
    requests.send('2', { in: other });
    requests.send('2', { group: 'system:masters' });
    await requests.clock.advance(waitLimitMs);
    expect(countOf(sent, 'served')).toBe(150);
    // What was refused is not used.
    expect(requests.activity.peek(cluster)?.requestRate.perSecond(requests.clock.monotonic())).toBeLessThanOrEqual(11);
  });

  test('no more than 1,000 wait, and unread bodies of 16 MiB', () => {
    const many = new Requests({ requestsPerSecond: 1_000 });
    for (let n = 0; n < 5_000; n++) many.send();
    many.open('other', { in: other });
    const sent = Array.from({ length: 1_100 }, () => many.track());
    expect(countOf(sent, 'waits')).toBe(1_000);
    const large = new Requests({ requestsPerSecond: 1_000 });
    for (let n = 0; n < 5_000; n++) large.send();
    large.open('other', { in: other });
    const bodies = Array.from({ length: 100 }, () => large.track({ bodyBytes: 3_000_000 }));
    expect(countOf(bodies, 'waits')).toBe(64);
  });

  test('a client that leaves makes room, and its request is not started', async () => {
    const { requests } = atTheLimit();
    requests.flowControl.waiting = 1;
    const client = new AbortController();
    const sent = Array.from({ length: 150 }, () => requests.track({ signal: client.signal }));
    expect(requests.activity.peek(cluster)?.inFlight).toBe(150);
    client.abort(new Error('the client left'));
    await requests.rest();
    expect(countOf(sent, 'waits')).toBe(0);
    expect(requests.activity.peek(cluster)?.inFlight).toBe(0);
    const next = requests.track();
    expect(next.outcome).toBe('waits');
    await requests.clock.advance(200);
    expect(next.outcome).toBe('served');
    expect(countOf(sent, 'served')).toBe(0);
  });
});

test('the cost of CEL beyond the limit is refused only while requests of others are in flight', () => {
  const requests = new Requests({ celCostPerSecond: 1_000_000 });
  const costs = new CelCostLimits(requests);
  const user = { name: 'user', uid: '', groups: [], extra: {} };
  costs.charge(cluster, 10_000_000);
  costs.check(cluster, user);
  costs.charge(cluster, 10_000_000);
  requests.open('other', { in: other });
  expect(() => costs.check(cluster, user)).toThrow(
    expect.objectContaining({ code: 429, details: expect.objectContaining({ retryAfterSeconds: 10 }) }),
  );
});
