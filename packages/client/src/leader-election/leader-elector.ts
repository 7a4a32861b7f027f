import {
  formatMicroTime,
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { ObjectClient } from '../object-client.ts';

const leases: GroupVersionResource = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

type Lease = KubeObject & {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
};

export interface LeaderElectionOptions {
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
  /** Unique identity of this process. */
  readonly identity: string;
  /** How long the others wait before they take over an unrenewed Lease; 60 s by default. */
  readonly leaseDurationMs?: number | undefined;
  /** How long a leader retries to renew before it stops; 5 s by default. Must be well below the lease duration. */
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
}

export interface LeaderElectionModules {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /** Called for every attempt that fails or times out, and is retried. `failures` counts consecutive ones. */
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly random?: (() => number) | undefined;
}

/** The leader could not renew the Lease in time, or another process holds it. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

/**
 * Leader election by a Lease, with the timing rules of client-go.
 *
 * ```
 *  campaign   every retry period: read the Lease; take it when it has no holder or was not renewed for its duration
 *  lead       every retry period: renew; no success within the renew deadline, or another holder → leadership lost
 *  end        the signal aborts: the work ends first, then the Lease is released, so that the next leader need not wait
 * ```
 *
 * Clocks of machines are never compared: a Lease is expired when *this* process has observed the same resourceVersion for
 * the whole duration. Every write is conditional on the resourceVersion that was read, so that of two concurrent attempts
 * one fails. A leader stops after the renew deadline (5 s), long before others may take over (60 s): there are never two
 * leaders, provided that the work ends within the difference once its signal aborts.
 */
export class LeaderElector {
  readonly #options: Required<{ [K in keyof LeaderElectionOptions]: NonNullable<LeaderElectionOptions[K]> }>;
  readonly #modules: LeaderElectionModules;
  /** The last observed resourceVersion of the Lease, and when it was first observed. */
  #observed: { readonly version: string; readonly at: number } | undefined;
  #isLeader = false;
  /** The last attempt found an unexpired Lease of another holder. */
  #heldByOther = false;
  #failures = 0;

  constructor(options: LeaderElectionOptions, modules: LeaderElectionModules) {
    this.#options = {
      ...options,
      leaseDurationMs: options.leaseDurationMs ?? 60_000,
      renewDeadlineMs: options.renewDeadlineMs ?? 5_000,
      retryPeriodMs: options.retryPeriodMs ?? 2_000,
    };
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = this.#options;
    if (renewDeadlineMs >= leaseDurationMs || retryPeriodMs >= renewDeadlineMs)
      throw new RangeError('retry period < renew deadline < lease duration must hold');
    this.#modules = modules;
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  /**
   * Campaigns, then runs `work` as the leader. Its signal aborts when leadership is lost or `signal` aborts; it must end soon
   * then. Resolves after `signal` aborted; rejects with {@link LeadershipLostError}, or with the error of the work. Can be
   * called again for another campaign.
   */
  async run(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (!(await this.#campaign(signal))) return;
    this.#isLeader = true;
    const end = new AbortController();
    const stop = (): void => end.abort(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const working = work(end.signal).finally(() => end.abort(new Error('work ended')));
    working.catch(() => {});
    let lost: LeadershipLostError | undefined;
    try {
      lost = await this.#renewUntilLost(end.signal);
    } finally {
      this.#isLeader = false;
      end.abort(lost);
      signal.removeEventListener('abort', stop);
    }
    try {
      await working;
    } catch (error) {
      // Throwing the abort reason is a regular end.
      if (error !== end.signal.reason) throw error;
    } finally {
      if (lost === undefined) await this.#release();
    }
    if (lost !== undefined) throw lost;
  }

  /** True once this process is the leader, false when the signal aborted before. */
  async #campaign(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      // A hanging request must not block the campaign. If it succeeds late, the next attempt finds its own Lease.
      const outcome = await this.#within(this.#options.renewDeadlineMs, this.#tryOnce());
      if (outcome === true) return true;
      if (outcome === undefined) this.#failed(new Error(`timed out after ${this.#options.renewDeadlineMs} ms`));
      // Jitter separates the attempts of processes that started together.
      const jitter = 1 + 1.2 * (this.#modules.random ?? Math.random)();
      if (!(await this.#pause(this.#options.retryPeriodMs * jitter, signal))) return false;
    }
    return false;
  }

  /** Renews until the signal aborts, which returns undefined, or leadership is lost. */
  async #renewUntilLost(signal: AbortSignal): Promise<LeadershipLostError | undefined> {
    const { clock } = this.#modules;
    const { renewDeadlineMs, retryPeriodMs } = this.#options;
    let renewed = clock.monotonic();
    while (await this.#pause(retryPeriodMs, signal)) {
      const left = renewed + renewDeadlineMs - clock.monotonic();
      const startedAt = clock.monotonic();
      const outcome = await this.#within(Math.max(0, left), this.#tryOnce());
      if (signal.aborted) return undefined;
      if (outcome === true) renewed = startedAt;
      else if (this.#heldByOther)
        return new LeadershipLostError(`lease ${this.#options.name} is held by another process`);
      else if (clock.monotonic() - renewed >= renewDeadlineMs)
        return new LeadershipLostError(`failed to renew lease ${this.#options.name} within ${renewDeadlineMs} ms`);
    }
    return undefined;
  }

  /** One attempt to acquire or renew the Lease; true when this process holds it. */
  async #tryOnce(): Promise<boolean> {
    try {
      const holds = await this.#acquireOrRenew();
      this.#failures = 0;
      return holds;
    } catch (error) {
      const isConflict = isStatusError(error, 'Conflict') || isStatusError(error, 'AlreadyExists');
      if (!isConflict) this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    this.#failures++;
    this.#modules.onFailure(error, this.#failures);
  }

  async #acquireOrRenew(): Promise<boolean> {
    const { client, clock } = this.#modules;
    const { cluster, namespace, name, identity } = this.#options;
    const now = formatMicroTime(new Date(clock.now()));
    const lease = await this.#read();
    if (lease === undefined) {
      this.#heldByOther = false;
      const created: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: { ...this.#holder(), acquireTime: now, renewTime: now, leaseTransitions: 0 },
      };
      this.#observe(await client.create(leases, cluster, created));
      return true;
    }
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#observed?.version !== version) this.#observed = { version, at: clock.monotonic() };
    const holder = lease.spec?.holderIdentity ?? '';
    const duration = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    const isExpired = this.#observed.at + duration <= clock.monotonic();
    this.#heldByOther = holder !== '' && holder !== identity && !isExpired;
    if (this.#heldByOther) return false;
    const isOwn = holder === identity;
    this.#observe(
      await client.update(leases, cluster, {
        ...lease,
        spec: {
          ...lease.spec,
          ...this.#holder(),
          acquireTime: isOwn ? (lease.spec?.acquireTime ?? now) : now,
          renewTime: now,
          leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + (isOwn ? 0 : 1),
        },
      }),
    );
    return true;
  }

  #holder(): { holderIdentity: string; leaseDurationSeconds: number } {
    const { identity, leaseDurationMs } = this.#options;
    return { holderIdentity: identity, leaseDurationSeconds: Math.max(1, Math.round(leaseDurationMs / 1000)) };
  }

  async #read(): Promise<Lease | undefined> {
    const { cluster, namespace, name } = this.#options;
    try {
      return await this.#modules.client.get(leases, { cluster, namespace, name });
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #observe(lease: KubeObject): void {
    this.#observed = { version: lease.metadata.resourceVersion ?? '', at: this.#modules.clock.monotonic() };
  }

  /** Releases the Lease, so that the next leader need not wait for its expiry; best effort. */
  async #release(): Promise<void> {
    try {
      const lease = await this.#read();
      if (lease?.spec?.holderIdentity !== this.#options.identity) return;
      const now = formatMicroTime(new Date(this.#modules.clock.now()));
      await this.#modules.client.update(leases, this.#options.cluster, {
        ...lease,
        spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now },
      });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The outcome, or undefined after `ms`. A late write is harmless, because it is conditional on the version it read. */
  async #within(ms: number, outcome: Promise<boolean>): Promise<boolean | undefined> {
    const timeout = Promise.withResolvers<undefined>();
    const timer = this.#modules.clock.after(ms, () => timeout.resolve(undefined));
    try {
      return await Promise.race([outcome, timeout.promise]);
    } finally {
      timer.cancel();
    }
  }

  /** False when the signal aborted. */
  async #pause(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#modules.clock.sleep(ms, signal);
      return true;
    } catch {
      return false; // Only an abort rejects a sleep.
    }
  }
}
