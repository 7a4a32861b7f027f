import { formatMicroTime, isStatusError, type KubeObject } from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import { failureLevel, nextTurn, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
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
  /** Of this process, as holder of the Lease. */
  readonly identity: string;
  readonly renewEveryMs?: number | undefined;
}

interface ShardRegistrationModules {
  /** Writes in the logical cluster `root` of the root shard. */
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Throws when this shard cannot hold anything now. */
  readonly check: () => Promise<void>;
  /** Logical clusters on this shard. */
  readonly load: () => number;
}

const mergePatch = 'application/merge-patch+json';
/** Of a Lease: how long it is good, in seconds. */
const leaseSeconds = 20;
const namespaces = { group: '', version: 'v1', resource: 'namespaces' };

/**
 * Tells all others of this shard (C12.1 g): its Shard object in `root` of the root shard, and a Lease beside it.
 *
 * ```
 *  register   create the Shard, or patch what differs: URLs and the label `name`; what others wrote on it stays
 *  renew      every 5 s, as long as the shard can hold something: patch the Lease's time and load
 * ```
 *
 * A root shard that is away delays both and stops nothing: each beat tries again. Replicas of a shard renew the same
 * Lease without looking at each other; any of them is a sign of life. A Shard that somebody deleted while it runs was
 * taken out of service: neither it nor its Lease, which goes with it, is made again before the next start.
 */
export class ShardRegistration implements Runnable {
  readonly name = 'shard registration';
  readonly #options: ShardRegistrationOptions;
  readonly #modules: ShardRegistrationModules;
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** The uid of the registered Shard; undefined until it is. */
  #uid: string | undefined;
  #failures = 0;

  constructor(options: ShardRegistrationOptions, modules: ShardRegistrationModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves after the first try, whatever became of it. */
  async start(): Promise<void> {
    await this.#beat();
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
        return; // A sleep fails by the signal only.
      }
      await this.#beat();
    }
  }

  async #beat(): Promise<void> {
    const { logger, check } = this.#modules;
    try {
      await check();
      if (this.#uid === undefined) {
        // In a start these are the first requests of their kinds: where nothing differs both would be one long turn.
        await nextTurn();
        this.#uid = await this.#register();
        await nextTurn();
      }
      await this.#renew(this.#uid);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      logger[failureLevel(this.#failures)]('this shard could not tell of itself', { failures: this.#failures, error });
    }
  }

  /** The uid of the Shard. */
  async #register(): Promise<string> {
    const { client } = this.#modules;
    const { name } = this.#options;
    const spec = this.#options.spec();
    const reference = shardReference(name);
    const known = await present(() => client.get(shards, reference) as Promise<Shard>);
    if (known === undefined) {
      const made = await client.create(shards, reference.cluster, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'Shard',
        metadata: { name, labels: { name } },
        spec,
      });
      return made.metadata.uid ?? '';
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
    const spec = { holderIdentity: identity, leaseDurationSeconds: leaseSeconds, renewTime: now };
    const renewed = await present(() =>
      client.patch(leases, reference, mergePatch, { metadata: { annotations }, spec }),
    );
    if (renewed !== undefined) return;
    const shard = await present(() => client.get(shards, shardReference(name)));
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
    await this.#inNamespace(reference.namespace, () => client.create(leases, reference.cluster, lease));
  }

  /** The namespace comes with the logical cluster, but perhaps a moment later. */
  async #inNamespace(name: string, write: () => Promise<KubeObject>): Promise<void> {
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

/** What a call gives, undefined when it finds nothing. */
async function present<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
