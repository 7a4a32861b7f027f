import { beforeEach, describe, expect, test } from '@jest/globals';
import { StatusError, statusErrors, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectClient } from '../object-client.ts';
import { LeaderElector, LeadershipLostError } from './leader-elector.ts';
import { FakeClock } from '@multiplane/testing';

const leases = { group: 'coordination.k8s.io', resource: 'leases' };

/** One Lease with versions, and an API server that fails or hangs on demand. */
class LeaseServer {
  lease: KubeObject | undefined;
  version = 0;
  failing = false;
  hanging = false;

  readonly client = {
    get: async () => {
      await this.#answer();
      if (this.lease === undefined) throw statusErrors.notFound(leases, 'l');
      return structuredClone(this.lease);
    },
    create: async (_resource: unknown, _cluster: unknown, object: KubeObject) => {
      await this.#answer();
      if (this.lease !== undefined) throw statusErrors.alreadyExists(leases, 'l');
      return this.#store(object);
    },
    update: async (_resource: unknown, _cluster: unknown, object: KubeObject) => {
      await this.#answer();
      if (this.lease?.metadata.resourceVersion !== object.metadata.resourceVersion)
        throw statusErrors.conflict(leases, 'l', 'changed');
      return this.#store(object);
    },
  } as unknown as ObjectClient;

  get holder(): unknown {
    return (this.lease?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity;
  }

  async #answer(): Promise<void> {
    if (this.hanging) await new Promise<never>(() => {});
    if (this.failing) throw new StatusError({ code: 500, reason: 'InternalError', message: 'broken' });
  }

  #store(object: KubeObject): KubeObject {
    this.version += 1;
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
    return structuredClone(this.lease);
  }
}

describe('leader election', () => {
  let server: LeaseServer;
  let clock: FakeClock;
  let log: string[];
  beforeEach(() => {
    server = new LeaseServer();
    clock = new FakeClock();
    log = [];
  });

  interface Replica {
    readonly elector: LeaderElector;
    readonly abort: AbortController;
    readonly outcome: Promise<string>;
  }
  function replica(identity: string, client = server.client): Replica {
    const elector = new LeaderElector(
      { cluster: 'system:admin' as LogicalClusterName, namespace: 'kube-system', name: 'kcp-controllers', identity },
      { client, clock, random: () => 0, onFailure: () => log.push(`${identity} failed`) },
    );
    const abort = new AbortController();
    const outcome = elector
      .run(abort.signal, async (signal) => {
        log.push(`${identity} leads`);
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        log.push(`${identity} ended`);
      })
      .then(
        () => 'resigned',
        (error: unknown) => (error instanceof LeadershipLostError ? 'lost' : String(error)),
      );
    return { elector, abort, outcome };
  }

  test('one process leads, and another takes over immediately after its resignation', async () => {
    const a = replica('a');
    const b = replica('b');
    await clock.advance(10_000);
    expect(log).toEqual(['a leads']);
    expect([a.elector.isLeader, b.elector.isLeader]).toEqual([true, false]);
    a.abort.abort();
    expect(await a.outcome).toBe('resigned');
    expect(server.holder).toBe('');
    await clock.advance(2_000);
    expect(log).toEqual(['a leads', 'a ended', 'b leads']);
    expect(server.lease?.['spec']).toMatchObject({
      holderIdentity: 'b',
      leaseDurationSeconds: 60,
      leaseTransitions: 1,
    });
    b.abort.abort();
    expect(await b.outcome).toBe('resigned');
  });

  test.each(['failing', 'hanging'] as const)(
    'a leader whose renewals are %s stops by itself long before anybody may take over',
    async (how) => {
      const a = replica('a');
      await clock.advance(1_000);
      expect(log).toEqual(['a leads']);
      server[how] = true;
      await clock.advance(7_000);
      expect(await a.outcome).toBe('lost');
      expect(log.filter((line) => line !== 'a failed')).toEqual(['a leads', 'a ended']);
      expect(a.elector.isLeader).toBe(false);
      server[how] = false;
      const b = replica('b');
      await clock.advance(50_000);
      expect(log).not.toContain('b leads');
      await clock.advance(12_000);
      expect(log).toContain('b leads');
      b.abort.abort();
      await b.outcome;
    },
  );

  test('a single failed renewal does not end leadership', async () => {
    const a = replica('a');
    await clock.advance(1_000);
    server.failing = true;
    await clock.advance(2_000);
    server.failing = false;
    await clock.advance(20_000);
    expect(a.elector.isLeader).toBe(true);
    expect(log).toEqual(['a leads', 'a failed']);
    a.abort.abort();
    await a.outcome;
  });

  test('reports the number of consecutive failures, timeouts included', async () => {
    server.failing = true;
    const failureCounts: number[] = [];
    const elector = new LeaderElector(
      { cluster: 'system:admin' as LogicalClusterName, namespace: 'kube-system', name: 'l', identity: 'a' },
      { client: server.client, clock, random: () => 0, onFailure: (_error, failures) => failureCounts.push(failures) },
    );
    const abort = new AbortController();
    const run = elector.run(abort.signal, () => Promise.resolve());
    await clock.advance(3_000);
    expect(failureCounts).toEqual([1, 2]);
    server.hanging = true;
    await clock.advance(8_000);
    expect(failureCounts).toEqual([1, 2, 3]);
    [server.failing, server.hanging] = [false, false];
    await clock.advance(8_000);
    await run;
    expect(server.holder).toBe('');
    abort.abort();
  });

  test('a leader that finds another holder stops immediately and does not release the lease', async () => {
    const a = replica('a');
    await clock.advance(1_000);
    const spec = { ...(server.lease?.['spec'] as object), holderIdentity: 'b' };
    server.lease = { ...(server.lease as KubeObject), spec, metadata: { name: 'l', resourceVersion: '77' } };
    await clock.advance(2_000);
    expect(await a.outcome).toBe('lost');
    expect(server.holder).toBe('b');
  });

  test('of two concurrent attempts one fails with a conflict', async () => {
    const a = replica('a');
    const b = replica('b');
    await clock.advance(0);
    expect(log.length).toBe(1);
    a.abort.abort();
    b.abort.abort();
    await Promise.all([a.outcome, b.outcome]);
    expect(log).toEqual(['a leads', 'a ended']);
  });

  test('a campaign survives a request without a response', async () => {
    server.hanging = true;
    const a = replica('a');
    await clock.advance(1_000);
    server.hanging = false;
    await clock.advance(7_000);
    expect(log).toEqual(['a failed', 'a leads']);
    a.abort.abort();
    await a.outcome;
  });

  test('a campaign ends with its signal', async () => {
    const a = replica('a');
    await clock.advance(1_000);
    const b = replica('b');
    await clock.advance(1_000);
    b.abort.abort();
    expect(await b.outcome).toBe('resigned');
    expect(server.holder).toBe('a');
    a.abort.abort();
    await a.outcome;
  });

  test('run rejects with the error of the work, and the lease is released', async () => {
    const elector = new LeaderElector(
      { cluster: 'system:admin' as LogicalClusterName, namespace: 'kube-system', name: 'l', identity: 'a' },
      { client: server.client, clock, onFailure: () => {} },
    );
    const fault = new Error('controller broke');
    await expect(elector.run(new AbortController().signal, () => Promise.reject(fault))).rejects.toBe(fault);
    expect(server.holder).toBe('');
  });
});
