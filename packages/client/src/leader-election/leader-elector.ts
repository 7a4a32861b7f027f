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
  /** Of this replica; no other may have the same. */
  readonly identity: string;
  /** How long others wait before they take over from a leader that is silent. */
  readonly leaseDurationMs?: number | undefined;
  /** How long a leader tries to renew before it gives up; must be well below the duration. */
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
}

export interface LeaderElectionModules {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /**
   * A try that failed, or hangs, for another reason than that somebody else leads; the next one follows. `failures` counts
   * those in a row.
   */
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly random?: (() => number) | undefined;
}

/** Why the work of a leader is over although nobody asked it to end. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

/**
 * One leader among the replicas that name the same Lease (C5.0; the timing rules of client-go).
 *
 * ```
 *  campaign   every retry period: read the Lease; take it when nobody holds it or its holder was silent for its duration
 *  lead       every retry period: renew; no success for the renew deadline, or somebody else holds it → lost
 *  end        the signal aborts: the work ends first, then the Lease is given back, so the next one need not wait
 * ```
 *
 * Clocks of machines are never compared: a holder is silent when *this* process has seen the same resourceVersion for the
 * whole duration. Every write names the version it read, so two that try at once cannot both succeed. A leader stops by
 * itself after the renew deadline (5 s), long before anybody may take over (60 s): never two at the same time, as long as
 * the work ends within the difference once its signal aborts.
 */
export class LeaderElector {
  readonly #options: Required<{ [K in keyof LeaderElectionOptions]: NonNullable<LeaderElectionOptions[K]> }>;
  readonly #modules: LeaderElectionModules;
  /** The version of the Lease that was seen last, and when it was first seen. */
  #seen: { readonly version: string; readonly at: number } | undefined;
  #leading = false;
  /** The last try found somebody else, alive. */
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

  get leading(): boolean {
    return this.#leading;
  }

  /**
   * Campaigns, then does `work` as the leader; its signal aborts when leadership is lost or `signal` aborts, and it should
   * end at once. Resolves when `signal` aborted; rejects with {@link LeadershipLostError} when leadership was lost, or with
   * what the work failed with. Call it again to campaign again.
   */
  async run(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (!(await this.#campaign(signal))) return;
    this.#leading = true;
    const end = new AbortController();
    const stop = (): void => end.abort(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const working = work(end.signal).finally(() => end.abort(new Error('the work ended')));
    working.catch(() => {});
    let lost: LeadershipLostError | undefined;
    try {
      lost = await this.#holdOn(end.signal);
    } finally {
      this.#leading = false;
      end.abort(lost);
      signal.removeEventListener('abort', stop);
    }
    try {
      await working;
    } catch (error) {
      // Work that throws the reason of its end ends as it should.
      if (error !== end.signal.reason) throw error;
    } finally {
      if (lost === undefined) await this.#release();
    }
    if (lost !== undefined) throw lost;
  }

  /** True when this replica leads, false when the signal aborted before. */
  async #campaign(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      // A try that hangs must not end the campaign; if it succeeds late, the next one finds the lease to be its own.
      const outcome = await this.#within(this.#options.renewDeadlineMs, this.#tryOnce());
      if (outcome === true) return true;
      if (outcome === undefined) this.#failed(new Error(`no answer within ${this.#options.renewDeadlineMs} ms`));
      // Replicas that started together do not try together for ever.
      const jitter = 1 + 1.2 * (this.#modules.random ?? Math.random)();
      if (!(await this.#pause(this.#options.retryPeriodMs * jitter, signal))) return false;
    }
    return false;
  }

  /** Renews until the signal aborts (undefined) or leadership is lost (why). */
  async #holdOn(signal: AbortSignal): Promise<LeadershipLostError | undefined> {
    const { clock } = this.#modules;
    const { renewDeadlineMs, retryPeriodMs } = this.#options;
    let renewed = clock.monotonic();
    while (await this.#pause(retryPeriodMs, signal)) {
      const left = renewed + renewDeadlineMs - clock.monotonic();
      const began = clock.monotonic();
      const outcome = await this.#within(Math.max(0, left), this.#tryOnce());
      if (signal.aborted) return undefined;
      if (outcome === true) renewed = began;
      else if (this.#heldByOther) return new LeadershipLostError(`somebody else holds the lease ${this.#options.name}`);
      else if (clock.monotonic() - renewed >= renewDeadlineMs)
        return new LeadershipLostError(
          `the lease ${this.#options.name} could not be renewed within ${renewDeadlineMs} ms`,
        );
    }
    return undefined;
  }

  /** One try to take or renew the Lease; true when this replica holds it now. */
  async #tryOnce(): Promise<boolean> {
    try {
      const holds = await this.#acquireOrRenew();
      this.#failures = 0;
      return holds;
    } catch (error) {
      const raced = isStatusError(error, 'Conflict') || isStatusError(error, 'AlreadyExists');
      if (!raced) this.#failed(error);
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
      const made: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: { ...this.#held(), acquireTime: now, renewTime: now, leaseTransitions: 0 },
      };
      this.#see(await client.create(leases, cluster, made));
      return true;
    }
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, at: clock.monotonic() };
    const holder = lease.spec?.holderIdentity ?? '';
    const duration = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    const silent = this.#seen.at + duration <= clock.monotonic();
    this.#heldByOther = holder !== '' && holder !== identity && !silent;
    if (this.#heldByOther) return false;
    const mine = holder === identity;
    this.#see(
      await client.update(leases, cluster, {
        ...lease,
        spec: {
          ...lease.spec,
          ...this.#held(),
          acquireTime: mine ? (lease.spec?.acquireTime ?? now) : now,
          renewTime: now,
          leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + (mine ? 0 : 1),
        },
      }),
    );
    return true;
  }

  #held(): { holderIdentity: string; leaseDurationSeconds: number } {
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

  #see(lease: KubeObject): void {
    this.#seen = { version: lease.metadata.resourceVersion ?? '', at: this.#modules.clock.monotonic() };
  }

  /** Gives the Lease back, so that the next leader need not wait. Tells a failure: then it waits. */
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

  /** The outcome, or undefined when it takes longer; a late one does no harm, its write names the version it read. */
  async #within(ms: number, outcome: Promise<boolean>): Promise<boolean | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = this.#modules.clock.after(ms, () => late.resolve(undefined));
    try {
      return await Promise.race([outcome, late.promise]);
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
      return false; // A sleep fails by the signal only.
    }
  }
}
