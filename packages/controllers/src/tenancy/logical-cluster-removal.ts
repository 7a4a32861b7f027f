import type { DeepReadonly, GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { ContentLeft, ContentRemover } from '../core/content-remover.ts';
import { deleteContent, type ContentModules } from '../core/delete-content.ts';
import { ignoring, mutable, updateParts, type UpdateWhole } from '../runtime/update-status.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import { metadataFor } from './logical-cluster-metadata.ts';
import { logicalClusterFinalizer, logicalClusters, type LogicalCluster } from './kinds.ts';

const recheckMs = 5_000;
/** So long more of what goes is waited for before what is left is looked at. */
export const togetherMs = 20;
/** What came into a cluster while it went is gone with the next round. */
const againMs = 50;
/** A removal that takes longer says what it waits for; most are over before anybody could read it. */
const quietMs = 2_000;
const isLogicalCluster = ({ group, resource }: GroupVersionResource): boolean =>
  group === logicalClusters.group && resource === logicalClusters.resource;
const isBinding = ({ group, resource }: GroupVersionResource): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;
const isClusterRbac = ({ group, resource }: GroupVersionResource): boolean =>
  group === 'rbac.authorization.k8s.io' && resource.startsWith('clusterrole');

/** Whether a logical cluster is deleted and nobody wants to see any more what it holds. */
export const isBeingEmptied = ({ metadata, status }: DeepReadonly<LogicalCluster>): boolean =>
  metadata.deletionTimestamp !== undefined && (status?.terminators ?? []).length === 0;

/** Whether a removal takes so long that somebody will ask why. */
function isLongRemoval({ metadata }: DeepReadonly<LogicalCluster>, clock: Pick<Clock, 'now'>): boolean {
  return clock.now() - Date.parse(metadata.deletionTimestamp ?? '') >= quietMs;
}

/** Where the removal of a cluster stands, as far as this process knows. */
interface Removal {
  /** When it last told why it takes long. */
  told: number;
  isUnderWay: boolean;
  /** Something of the cluster has gone since the last round began. */
  wentOn: boolean;
}

interface RemovalModules extends ContentModules {
  readonly clock: Clock;
  readonly content: ContentRemover;
  readonly updateWhole: UpdateWhole;
}

/**
 * Empties a logical cluster and lets it go (C15.3). The order keeps the rights of those who still work in it until the
 * end: RBAC of the cluster goes last. Nearly always all of it goes in one round of the remover. Only what takes long, or
 * cannot be deleted, is asked for kind by kind, so that a condition can tell what remains and why; while it only waits,
 * not with everything that goes. Returns when to look again.
 */
export class ContentRemoval {
  readonly #options: { readonly shardName: string };
  readonly #modules: RemovalModules;
  /** Clusters whose removal has begun here. */
  readonly #removals = new Map<LogicalClusterName, Removal>();

  constructor(options: { readonly shardName: string }, modules: RemovalModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * To be asked when something of a cluster is gone: whether a round is worth it that is not under way already. One that
   * is sees for itself, since nearly always it is what removes.
   */
  isWaiting(cluster: LogicalClusterName): boolean {
    const removal = this.#removals.get(cluster);
    if (removal === undefined) return false;
    removal.wentOn = true;
    return !removal.isUnderWay;
  }

  forget(cluster: LogicalClusterName): void {
    this.#removals.delete(cluster);
  }

  async remove(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<number | void> {
    const removal = this.#removals.get(cluster) ?? {
      told: Number.NEGATIVE_INFINITY,
      isUnderWay: false,
      wentOn: false,
    };
    this.#removals.set(cluster, removal);
    removal.isUnderWay = true;
    removal.wentOn = false;
    try {
      const again = await this.#round(object, cluster, removal);
      // Part of what is waited for may be what has gone meanwhile.
      return typeof again === 'number' && removal.wentOn ? Math.min(again, togetherMs) : again;
    } finally {
      removal.isUnderWay = false;
    }
  }

  async #round(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    removal: Removal,
  ): Promise<number | void> {
    const { clock, content } = this.#modules;
    const left = await content.empty(cluster);
    if (left === 'nothing') return letGo(object, cluster, this.#modules);
    if (left === 'held') {
      const now = clock.monotonic();
      const wait = isLongRemoval(object, clock) ? removal.told + quietMs - now : quietMs;
      if (wait > 0) return wait;
      removal.told = now;
    }
    return removeByKind(object, cluster, left, { ...this.#modules, ...this.#options });
  }
}

async function removeByKind(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  left: ContentLeft,
  modules: RemovalModules & { readonly shardName: string },
): Promise<number | void> {
  const { clock, updateWhole } = modules;
  // What stands in namespaces is the namespace controller's work; here it only counts as what remains.
  const skip = (resource: GroupVersionResource): boolean =>
    isClusterRbac(resource) || isLogicalCluster(resource) || isBinding(resource);
  let own = await deleteContent({ cluster, namespace: '', skip }, modules);
  // Bindings go after everything else, but for objects that nobody else can delete.
  const isLast = own.objects.size === 0 && own.failures.length === 0;
  if (isLast || (left === 'failed' && hasUnmarked(cluster, modules.informers))) {
    const bindings = await deleteContent({ cluster, namespace: '', only: [apiBindings] }, modules);
    if (isLast) own = bindings;
  }
  if (own.objects.size > 0 || own.failures.length > 0) {
    if (own.failures.length === 0 && !isLongRemoval(object, clock)) return quietMs;
    const remaining = [...own.objects].map(([resource, count]) => `${resource} has ${count} resource instances`).sort();
    const pending = [...own.finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    const texts = [
      ...(remaining.length === 0 ? [] : [`Some resources are remaining: ${remaining.join(', ')}`]),
      ...(pending.length === 0
        ? []
        : [`Some content in the logical cluster has finalizers remaining: ${pending.join(', ')}`]),
      ...own.failures,
    ];
    const failed = own.failures.length > 0;
    const conditions = setKcpCondition(
      object.status?.conditions,
      {
        type: 'WorkspaceContentDeleted',
        status: 'False',
        severity: failed ? 'Error' : 'Info',
        reason: failed ? 'ContentDeletionFailed' : 'SomeResourcesRemain',
        message: texts.join('; '),
      },
      new Date(clock.now()),
    );
    const status = { ...object.status, phase: 'Deleting', conditions } as NonNullable<LogicalCluster['status']>;
    const metadata = metadataFor({ ...object, status }, modules.shardName);
    await updateParts(updateWhole, logicalClusters, cluster, object, { status, metadata });
    return recheckMs;
  }
  // Objects of namespaces that are gone: nothing else counts them.
  for (const { resource } of modules.informers.metadata.list({ cluster }))
    if (!isLogicalCluster(resource) && !isClusterRbac(resource)) return againMs;
  const rbac = await deleteContent({ cluster, namespace: '', skip: isLogicalCluster }, modules);
  if (rbac.objects.size > 0) return recheckMs;
  return letGo(object, cluster, modules);
}

async function letGo(
  object: DeepReadonly<LogicalCluster>,
  cluster: LogicalClusterName,
  { client, content }: RemovalModules,
): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== logicalClusterFinalizer);
  await ignoring(['NotFound'], async () => {
    if (finalizers.length === 0) await content.release(logicalClusters, cluster, object);
    else await client.update(logicalClusters, cluster, mutable(object, { metadata: { finalizers } }));
  });
}

/** Whether something was not even marked, for nobody serves it in the version that it is stored in. */
function hasUnmarked(cluster: LogicalClusterName, informers: ContentModules['informers']): boolean {
  for (const { resource, metadata } of informers.metadata.list({ cluster })) {
    const goesLater = isLogicalCluster(resource) || isClusterRbac(resource) || isBinding(resource);
    if (!goesLater && metadata.deletionTimestamp === undefined) return true;
  }
  return false;
}
