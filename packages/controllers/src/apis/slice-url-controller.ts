import {
  clusterAnnotation,
  isStatusError,
  parseLabelSelector,
  type Condition,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiBindings, apiExports, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, Lister, ObjectClient, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import type { ExportReferenceIndex } from './export-reference-index.ts';
import { bindingExportReference, exportPath, referenceOfExport } from './export-reference.ts';

/** What the kinds of endpoint slices have in common. */
export type PublishedSlice = KubeObject & {
  status?: {
    endpoints?: { url: string }[];
    shardSelector?: string;
    conditions?: readonly Pick<Condition, 'type' | 'status'>[];
  };
};

export interface SliceUrlOptions<T extends PublishedSlice> {
  readonly name: string;
  readonly shardName: string;
  readonly resource: GroupVersionResource;
  /** The APIExports whose consumers use the slice. */
  readonly exportsOf: (slice: DeepReadonly<T>, reference: ObjectReference) => readonly DeepReadonly<APIExport>[];
  /** Keys of the slices that {@link exportsOf} may find the APIExport for. */
  readonly slicesOf: (object: DeepReadonly<APIExport>, reference: ObjectReference) => Iterable<string>;
  /** The URL of a slice with APIExports, below the virtual workspace URL `base` of a shard. */
  readonly urlOf: (
    base: string,
    slice: DeepReadonly<T>,
    reference: ObjectReference,
    exports: readonly DeepReadonly<APIExport>[],
  ) => string;
}

export interface SliceUrlModules extends ControllerModules {
  /** The replicated objects of all shards, the shard's own first. */
  readonly globalInformers: InformerSource;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
  /** The bindings of this shard by export. */
  readonly byExport: ExportReferenceIndex<APIBinding>;
  /** A client that may write the status of a slice, on this shard or another one. */
  readonly clientFor: (slice: DeepReadonly<KubeObject>) => ObjectClient;
}

/**
 * Publishes the URL of this shard in the endpoint slices of one kind, of all shards (kcp:
 * pkg/reconciler/apis/apiexportendpointsliceurls, pkg/reconciler/cache/cachedresourceendpointsliceurls):
 *
 * ```
 *  first binding to an export on this shard ──► apply { endpoints: [own URL] } ──┐  to the slice, on whichever shard,
 *  last binding deleted                     ──► apply { }                      ──┘  as field manager <own shard>
 * ```
 *
 * Server-side apply keeps the entries of the shards apart. A slice is queued when it or its export changes, when this shard
 * gets its first or loses its last binding to the export, and when the Shard object of this shard changes. When a slice's
 * partition no longer includes the shard, the URL stays as long as there are bindings: without it their provider would lose
 * access.
 */
export function sliceUrlController<T extends PublishedSlice>(
  options: SliceUrlOptions<T>,
  modules: SliceUrlModules,
): Controller {
  const { informers, globalInformers, byExport } = modules;
  const { name, shardName, resource, slicesOf } = options;
  const slices = globalInformers.informer<T>(resource);
  const publisher = new SliceUrlPublisher(options, modules);
  const controller: Controller = new Controller({ name, reconcile: (key) => publisher.reconcile(key) }, modules);
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>): void => {
    for (const key of slicesOf(object, referenceOfExport(object))) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: enqueueOfExport,
    updated: (object, old) => {
      enqueueOfExport(object);
      enqueueOfExport(old);
    },
    deleted: enqueueOfExport,
  });
  // Only the first binding to an export on this shard and the deletion of the last one change the endpoints.
  const enqueueOfBinding = (binding: DeepReadonly<APIBinding>, from: ObjectReference, threshold: number): void => {
    const object = exportOfBinding(modules.exports, binding, from.cluster);
    if (object !== undefined && byExport.of(object, referenceOfExport(object)).size <= threshold)
      enqueueOfExport(object);
  };
  informers.informer<APIBinding>(apiBindings).addHandlers({
    added: (binding, reference) => enqueueOfBinding(binding, reference, 1),
    deleted: (old, reference) => enqueueOfBinding(old, reference, 0),
  });
  const enqueueAll = (isLowPriority: boolean): void => {
    for (const { metadata } of slices.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }), isLowPriority);
    }
  };
  // Before, URLs without known bindings are not removed.
  void byExport.synced.then(() => enqueueAll(true));
  globalInformers.informer<Shard>(shards).addHandlers({
    added: (_shard, reference) => {
      if (reference.name === shardName) enqueueAll(false);
    },
    updated: (shard, old, reference) => {
      if (reference.name === shardName && publishedBy(shard) !== publishedBy(old)) enqueueAll(false);
    },
  });
  return controller;
}

/** Undefined if the export does not exist or its path is ambiguous, which the conditions of the binding report. */
function exportOfBinding(
  exports: PathAndNameLookup<APIExport>,
  binding: DeepReadonly<APIBinding>,
  cluster: LogicalClusterName,
): DeepReadonly<APIExport> | undefined {
  const reference = bindingExportReference(binding);
  try {
    return exports.byPathAndName(exportPath(reference, cluster), reference.name ?? '');
  } catch {
    return undefined;
  }
}

/** The fields of a Shard that decide about its URLs. */
const publishedBy = ({ spec, metadata }: DeepReadonly<Shard>): string => JSON.stringify([spec, metadata.labels]);

/** Adds the URL of this shard to an endpoint slice or removes it. */
class SliceUrlPublisher<T extends PublishedSlice> {
  readonly #options: SliceUrlOptions<T>;
  readonly #modules: SliceUrlModules;
  readonly #slices: Lister<T>;
  readonly #shards: Lister<Shard>;

  constructor(options: SliceUrlOptions<T>, modules: SliceUrlModules) {
    this.#options = options;
    this.#modules = modules;
    this.#slices = modules.globalInformers.informer<T>(options.resource);
    this.#shards = modules.globalInformers.informer<Shard>(shards);
  }

  async reconcile(key: string): Promise<void> {
    const { shardName, exportsOf, urlOf } = this.#options;
    const { byExport } = this.#modules;
    const reference = referenceOf(key);
    const slice = this.#slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const { conditions = [], endpoints = [], shardSelector = '' } = slice.status ?? {};
    if (conditions.length === 0 || conditions.some(({ status }) => status !== 'True')) return;
    const shard = this.#shards.get(shardReference(shardName));
    const base = shard?.spec.virtualWorkspaceURL ?? '';
    const exports = exportsOf(slice, reference);
    if (exports.length === 0 || shard === undefined || base === '') return;
    const url = urlOf(base, slice, reference, exports);
    const isListed = endpoints.some((endpoint) => endpoint.url === url);
    const hasConsumers = exports.some((object) => byExport.of(object, referenceOfExport(object)).size > 0);
    if (!hasConsumers) {
      if (isListed && byExport.hasSynced) await this.#apply(slice, reference, {});
    } else if (!isListed && parseLabelSelector(shardSelector).matches(shard.metadata.labels)) {
      await this.#apply(slice, reference, { endpoints: [{ url }] });
    }
  }

  async #apply(
    slice: DeepReadonly<T>,
    reference: ObjectReference,
    status: { readonly endpoints?: { url: string }[] },
  ): Promise<void> {
    const { resource, shardName } = this.#options;
    const { apiVersion, kind } = slice as DeepReadonly<KubeObject>;
    const configuration = { apiVersion, kind, metadata: { name: reference.name }, status };
    const options = { subresource: 'status', fieldManager: shardName, force: true };
    try {
      await this.#modules
        .clientFor(slice)
        .patch(resource, reference, 'application/apply-patch+yaml', configuration, options);
    } catch (error) {
      // A slice of another shard may be deleted before its cached object is.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}
