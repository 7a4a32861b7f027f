import {
  asLogicalClusterName,
  clusterAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { limitAnnotations, limitNames, type LimitName, type WorkspaceUsageStatus } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { ClusterUsage, StoredUsage, WatchCache } from '@multiplane/storage';
import type { ClusterActivity } from './cluster-activity.ts';
import type { WorkspaceLimits } from './workspace-limits.ts';

interface Modules {
  readonly usage: ClusterUsage;
  readonly activity: ClusterActivity;
  readonly limits: () => WorkspaceLimits;
  readonly cache: Pick<WatchCache, 'peek'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly decode: (entry: NonNullable<ReturnType<WatchCache['peek']>>) => DeepReadonly<KubeObject>;
}

/** Computes the status of a WorkspaceUsage. */
export class UsageReport {
  readonly #modules: Modules;

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  of(logicalCluster: DeepReadonly<KubeObject>): WorkspaceUsageStatus {
    const { usage, activity, limits, clock } = this.#modules;
    const cluster = asLogicalClusterName(logicalCluster.metadata.annotations?.[clusterAnnotation] ?? '');
    const stored = usage.stored(cluster);
    const requests = activity.peek(cluster);
    const now = clock.monotonic();
    const used = {
      objects: stored.objects,
      bytes: stored.bytes,
      events: stored.events,
      definitions: stored.definitions,
      schemaBytes: stored.definitionBytes,
      watches: requests?.watches ?? 0,
      connections: requests?.connections.size ?? 0,
      requestsInFlight: requests?.inFlight ?? 0,
      requestsPerSecond: requests?.requestRate.perSecond(now) ?? 0,
      celCostPerSecond: requests?.celRate.perSecond(now) ?? 0,
      requests: requests?.requests ?? 0,
    };
    const lastWrite = this.#lastWrite(stored);
    return {
      ...(lastWrite === undefined ? {} : { lastWriteTime: lastWrite }),
      used,
      limits: limitNames.map((name) => this.#limit(limits(), cluster, name, used)),
    };
  }

  #limit(
    limits: WorkspaceLimits,
    cluster: LogicalClusterName,
    name: LimitName,
    used: Readonly<Partial<Record<LimitName, number>>>,
  ): WorkspaceUsageStatus['limits'][number] {
    const { max, by, isDefault } = limits.of(cluster)[name];
    const amount = used[name];
    return {
      name,
      ...(amount === undefined ? {} : { used: amount }),
      ...(max === Infinity ? {} : { max }),
      annotation: limitAnnotations[name],
      setBy: by ?? (isDefault ? 'Default' : 'Installation'),
    };
  }

  /** After a start the latest time in the object that was written last; deletes before it are not known. */
  #lastWrite({ lastWriteMs, latestKey }: StoredUsage): string | undefined {
    if (lastWriteMs !== undefined) return seconds(new Date(lastWriteMs).toISOString());
    const { cache, decode } = this.#modules;
    const entry = latestKey === undefined ? undefined : cache.peek(latestKey);
    if (entry === undefined) return undefined;
    const { creationTimestamp, deletionTimestamp, managedFields } = decode(entry).metadata;
    const fields = (managedFields ?? []) as readonly { readonly time?: unknown }[];
    const times = [creationTimestamp, deletionTimestamp, ...fields.map(({ time }) => time)];
    // Times in RFC 3339 with the same form have the order of their texts.
    return times
      .filter((time): time is string => typeof time === 'string')
      .sort()
      .at(-1);
  }
}

const seconds = (time: string): string => `${time.slice(0, 19)}Z`;
