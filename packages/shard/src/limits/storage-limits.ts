import { statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import type { LimitName, ResourceDefinition } from '@multiplane/apis';
import {
  admissionForbidden,
  groupResourceOf,
  loopbackUser,
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Reserved,
  type WriteCapacity,
  type WriteRequest,
  type WriteSize,
} from '@multiplane/apiserver';
import { logicalClusters } from '@multiplane/controllers';
import type { ClusterUsage, Usage, WatchCache } from '@multiplane/storage';
import type { WorkspaceLimits } from './workspace-limits.ts';

interface Modules {
  readonly usage: ClusterUsage;
  readonly limits: WorkspaceLimits;
  readonly cache: Pick<WatchCache, 'isFresh' | 'freshRevision'>;
}

interface CountLimitModules extends Pick<Modules, 'usage'> {
  readonly storageLimits: StorageLimits;
}

type Amounts = Pick<Usage, 'objects'> & Partial<Usage>;

/** The limits of stored things, with the amounts they limit. */
const limited: readonly (readonly [LimitName, keyof Usage])[] = [
  ['objects', 'objects'],
  ['bytes', 'bytes'],
  ['definitions', 'definitions'],
  ['schemaBytes', 'definitionBytes'],
];

/**
 * Limits what a workspace stores. The room for a write is reserved right before it is sent to the store, so that concurrent
 * writers cannot exceed a limit together. Only what adds to a limited amount is refused: deletes, and updates that do not
 * make an object larger, always pass, also when the limit was lowered below the usage.
 *
 * Deletes count when the cache observes them, which is after their response if the store is etcd. So before a write is
 * refused, the count is made as fresh as a consistent read: a client can use the room of an object as soon as its delete
 * was acknowledged, by this replica or another. Refusals that wait at the same time share one request to the store.
 *
 * The shard's own writes are counted and not refused: a workspace at its limit must be initialized and deleted, and they are
 * bounded by what its users store. The same holds for LogicalClusters, which other shards create.
 */
export class StorageLimits implements WriteCapacity {
  readonly #modules: Modules;

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  reserve(request: WriteRequest, size: WriteSize): Reserved | Promise<Reserved> {
    const { usage } = this.#modules;
    const { cluster } = request;
    const amounts = usage.amountsOf(size.key, size.bytes, size.oldBytes);
    if (amounts.bytes === 0 && size.oldBytes !== undefined) return undefined;
    if (isExempt(request)) return usage.reserve(cluster, size.key, amounts);
    if (!usage.isCounted) return usage.counted.then(() => this.reserve(request, size));
    const reserveUnless = (excess: string | undefined): Reserved => {
      if (excess === undefined) return usage.reserve(cluster, size.key, amounts);
      throw statusErrors.forbidden(groupResourceOf(request.definition), nameOf(size.key), excess);
    };
    // No other write may take the room between the check and the reservation: both are in one synchronous step.
    return this.excess(cluster, amounts, reserveUnless);
  }

  /**
   * Passes to `decide` why a write of these amounts is refused; undefined: it is not. Returns what `decide` returns. A
   * promise only while a refusal waits for what the store holds now; rejects with StorageUnavailableError if the cache does
   * not reach it in time.
   */
  excess<T>(cluster: LogicalClusterName, amounts: Amounts, decide: (excess: string | undefined) => T): T | Promise<T> {
    const { usage, cache } = this.#modules;
    const excess = this.#observedExcess(cluster, amounts);
    if (excess === undefined || cache.isFresh) return decide(excess);
    return cache
      .freshRevision()
      .then(() => usage.counted)
      .then(() => decide(this.#observedExcess(cluster, amounts)));
  }

  #observedExcess(cluster: LogicalClusterName, amounts: Amounts): string | undefined {
    const { usage, limits } = this.#modules;
    const effective = limits.of(cluster);
    for (const [name, field] of limited) {
      const requested = amounts[field] ?? 0;
      if (requested === 0 || effective[name].max === Infinity) continue;
      const used = usage.charged(cluster, field);
      if (used + requested > effective[name].max) return limits.exceeded(cluster, name, { used, requested });
    }
    return undefined;
  }
}

/**
 * Refuses creates in a workspace that is full, before they are charged to quotas; also those of a dry run. What counts is
 * {@link StorageLimits}, at the write. The name is that of kcp's plugin after v0.32.
 */
export class ObjectCountLimit implements AdmissionPlugin {
  readonly name = 'core.kcp.io/LogicalClusterObjectCountLimit';
  readonly #modules: CountLimitModules;

  constructor(modules: CountLimitModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return definition.storage !== undefined && !isLogicalCluster(definition) && !isEvent(definition);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    if (isExempt(attributes) || attributes.subresource !== '' || !this.#modules.usage.isCounted) return undefined;
    return this.#modules.storageLimits.excess(attributes.cluster, { objects: 1 }, (excess) => {
      if (excess !== undefined) throw admissionForbidden(attributes, excess);
      return undefined;
    });
  }
}

const isExempt = ({ user, definition }: Pick<WriteRequest, 'user' | 'definition'>): boolean =>
  user === loopbackUser || isLogicalCluster(definition);

const isLogicalCluster = ({ group, resource }: ResourceDefinition): boolean =>
  group === logicalClusters.group && resource === logicalClusters.resource;

const isEvent = ({ group, resource }: ResourceDefinition): boolean =>
  resource === 'events' && (group === '' || group === 'events.k8s.io');

const nameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
