import { formatMicroTime, isStatusError, type KubeObject } from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import { failureLevel, yieldToEventLoop, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import {
  leases,
  loadAnnotation,
  replicatedLease,
  rootCluster,
  shardLeaseReference,
  shardReference,
  shards,
  type Lease,
  type Shard,
} from './kinds.ts';

interface ShardRegistrationOptions {
  readonly name: string;
  readonly spec: () => Required<Shard['spec']>;
  /** Holder identity of this process in the Lease. */
  readonly identity: string;
  readonly renewEveryMs?: number | undefined;
}

interface ShardRegistrationModules {
  /** A client of the root shard. */
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Throws if the shard cannot store objects now; then the Lease is not renewed. */
  readonly check: () => Promise<void>;
  /** Number of logical clusters on this shard. */
  readonly load: () => number;
}

const mergePatch = 'application/merge-patch+json';
const leaseDurationSeconds = 20;
const namespaces = { group: '', version: 'v1', resource: 'namespaces' };

/**
 * Registers this shard: its Shard object in the logical cluster `root` of the root shard, and a Lease owned by it.
 *
 * ```
 *  register   create the Shard, or patch its URLs and the label `name`; other fields are not changed
 *  renew      every 5 s while the shard can store objects: patch time and load of the Lease
 * ```
 *
 * Each heartbeat retries both, so an unavailable root shard only delays them. Replicas of a shard renew the same Lease
 * without coordination. A Shard that is deleted while the process runs has been taken out of service: neither it nor its
 * Lease, which the garbage collector deletes, is created again before the next start.
 */
export class ShardRegistration implements Runnable {
  readonly name = 'shard registration';
  readonly #options: ShardRegistrationOptions;
  readonly #modules: ShardRegistrationModules;
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** The uid of the registered Shard. */
  #uid: string | undefined;
  #failures = 0;

  constructor(options: ShardRegistrationOptions, modules: ShardRegistrationModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves after the first heartbeat, successful or not. */
  async start(): Promise<void> {
    await this.#heartbeat();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#modules;
    for (;;) {
      try {
        await clock.sleep(this.#options.renewEveryMs ?? 5_000, this.#abort.signal);
      } catch {
        return; // Aborted: a sleep does not fail otherwise.
      }
      await this.#heartbeat();
    }
  }

  async #heartbeat(): Promise<void> {
    const { logger, check } = this.#modules;
    try {
      await check();
      if (this.#uid === undefined) {
        // After a start these are the first requests of their kinds, which take longest: yield between them.
        await yieldToEventLoop();
        this.#uid = await this.#register();
        await yieldToEventLoop();
      }
      await this.#renew(this.#uid);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      logger[failureLevel(this.#failures)]('failed to register the shard or renew its lease', {
        failures: this.#failures,
        error,
      });
    }
  }

  /** Returns the uid of the Shard. */
  async #register(): Promise<string> {
    const { client } = this.#modules;
    const { name } = this.#options;
    const spec = this.#options.spec();
    const reference = shardReference(name);
    const known = await ifFound(() => client.get(shards, reference) as Promise<Shard>);
    if (known === undefined) {
      const created = await client.create(shards, reference.cluster, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'Shard',
        metadata: { name, labels: { name } },
        spec,
      });
      return created.metadata.uid ?? '';
    }
    const differs =
      known.metadata.labels?.['name'] !== name ||
      (['baseURL', 'externalURL', 'virtualWorkspaceURL'] as const).some((url) => known.spec[url] !== spec[url]);
    if (differs) await client.patch(shards, reference, mergePatch, { metadata: { labels: { name } }, spec });
    return known.metadata.uid ?? '';
  }

  async #renew(uid: string): Promise<void> {
    const { client, clock } = this.#modules;
    const { name, identity } = this.#options;
    const reference = shardLeaseReference(name);
    const now = formatMicroTime(new Date(clock.now()));
    const annotations = { ...replicatedLease, [loadAnnotation]: String(this.#modules.load()) };
    const spec = { holderIdentity: identity, leaseDurationSeconds, renewTime: now };
    const renewed = await ifFound(() =>
      client.patch(leases, reference, mergePatch, { metadata: { annotations }, spec }),
    );
    if (renewed !== undefined) return;
    const shard = await ifFound(() => client.get(shards, shardReference(name)));
    if (shard?.metadata.uid !== uid) return;
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: reference.name,
        namespace: reference.namespace,
        annotations,
        ownerReferences: [{ apiVersion: 'core.kcp.io/v1alpha1', kind: 'Shard', name, uid }],
      },
      spec: { ...spec, acquireTime: now },
    };
    await this.#withNamespace(reference.namespace, () => client.create(leases, reference.cluster, lease));
  }

  /** Retries a write after creating its namespace, which may not exist yet when the logical cluster is new. */
  async #withNamespace(name: string, write: () => Promise<KubeObject>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await this.#modules.client.create(namespaces, rootCluster, namespace);
      await write();
    }
  }
}

/** The result of a call; undefined for NotFound. */
async function ifFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
