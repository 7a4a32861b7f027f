import {
  clusterAnnotation,
  deepEqual,
  isStatusError,
  type DeepReadonly,
  type GroupResource,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExports,
  apiExportScopes,
  apiExportScopeSets,
  occurringSet,
  policyHasResource,
  scopeInForce,
  type APIExport,
  type APIExportScope,
  type APIExportScopeSet,
  type OccurringSet,
} from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import { referenceOfExport } from '../apis/export-reference.ts';
import type { SliceUrlModules } from '../apis/slice-url-controller.ts';
import { Controller } from '../runtime/controller.ts';
import { FieldSelectability } from './field-selectability.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';

/** Objects of one exported API on this shard. */
export interface ScopedObjects {
  /** Number of objects by the value of a scope's key, over several resources of one identity. Empty values are left out. */
  countByValue(query: {
    readonly identityHash: string;
    readonly key: string;
    readonly resources: readonly GroupResource[];
  }): Promise<ReadonlyMap<string, number>>;
}

export interface ScopeReportModules extends SliceUrlModules {
  readonly scopedObjects: ScopedObjects;
}

/** A scope or set with the report that this shard should have in it; undefined: none, since no consumer is here. */
interface Due {
  readonly key: string;
  readonly resource: GroupVersionResource;
  readonly object: DeepReadonly<KubeObject>;
  readonly report: JsonObject | undefined;
}

/** Time between two passes, and between two reports about one object. */
export const reportIntervalMs = 5_000;
/** Reports that one pass writes; further ones follow after {@link backlogDelayMs}, so a shard writes at most 10 per second. */
const maxWrites = 10;
const backlogDelayMs = 1_000;
const everything = 'all';

/**
 * Reports what this shard has of every scope and set, on whichever shard these are stored:
 *
 *   APIExportScope      status.shards[<shard>].objects   number of objects in the scope
 *   APIExportScopeSet   status.shards[<shard>].values    the values of the label or field that occur (sets of occurring values only)
 *
 * - Server-side apply with the shard's name as field manager keeps the entries of the shards apart, as in endpoint slices. The
 *   report follows from what is stored, so it does not matter which replica of the shard writes it, or how often.
 * - A shard reports while it has consumers of the export, and removes its entry when the last one is gone. The shard of the
 *   scope removes entries of shards that were removed (`shard-reports.ts`).
 * - The rate of writes is bounded, whatever the consumers do: see the constants. Those who waited longest come first.
 * - A pass compares every scope, in time slices: counts change without an event, so no index by due time would save the walk.
 */
export function scopeReportController(
  options: { readonly shardName: string },
  modules: ScopeReportModules,
): Controller {
  const { globalInformers } = modules;
  const reporter = new ScopeReporter(options, modules);
  const controller: Controller = new Controller(
    { name: 'apiexportscope-reports', reconcile: () => reporter.pass(), workers: 1 },
    modules,
  );
  const enqueue = (): void => controller.queue.add(everything);
  for (const resource of [apiExportScopes, apiExportScopeSets])
    globalInformers.informer<APIExportScope | APIExportScopeSet>(resource).addHandlers({
      added: enqueue,
      updated: (object, old) => {
        if (object.status?.identityHash !== old.status?.identityHash) enqueue();
      },
    });
  return controller;
}

class ScopeReporter {
  readonly #shardName: string;
  readonly #modules: ScopeReportModules;
  readonly #scopes: Lister<APIExportScope>;
  readonly #sets: Lister<APIExportScopeSet>;
  readonly #exports: Lister<APIExport>;
  readonly #selectability: FieldSelectability;
  /** Monotonic time of the last report by {@link Due.key}. */
  #reportedAt = new Map<string, number>();

  constructor({ shardName }: { readonly shardName: string }, modules: ScopeReportModules) {
    const { globalInformers } = modules;
    this.#shardName = shardName;
    this.#modules = modules;
    this.#scopes = globalInformers.informer<APIExportScope>(apiExportScopes);
    this.#sets = globalInformers.informer<APIExportScopeSet>(apiExportScopeSets);
    this.#exports = globalInformers.informer<APIExport>(apiExports);
    this.#selectability = new FieldSelectability(modules);
  }

  /** Returns the milliseconds until the next pass; undefined while there is nothing to report about. */
  async pass(): Promise<number | void> {
    const counts = new ValueCounts(this.#modules.scopedObjects);
    const due = [...(await this.#dueOfScopes(counts)), ...(await this.#dueOfSets(counts))];
    const known = new Set(due.map(({ key }) => key));
    this.#reportedAt = new Map([...this.#reportedAt].filter(([key]) => known.has(key)));
    const now = this.#modules.clock.monotonic();
    const lastOf = ({ key }: Due): number => this.#reportedAt.get(key) ?? Number.NEGATIVE_INFINITY;
    const waiting = due
      .filter((one) => this.#isOutdated(one) && now - lastOf(one) >= reportIntervalMs)
      .sort((a, b) => (lastOf(a) < lastOf(b) ? -1 : 1));
    for (const one of waiting.slice(0, maxWrites)) {
      this.#reportedAt.set(one.key, now);
      await this.#write(one);
    }
    if (this.#scopes.list().length + this.#sets.list().length === 0) return;
    return waiting.length > maxWrites ? backlogDelayMs : reportIntervalMs;
  }

  #isOutdated({ object, report }: Due): boolean {
    const { shards = [] } = (object['status'] ?? {}) as { shards?: (JsonObject & { name: string })[] };
    return !deepEqual(shards.find(({ name }) => name === this.#shardName) ?? null, report ?? null);
  }

  async #dueOfScopes(counts: ValueCounts): Promise<Due[]> {
    const due: Due[] = [];
    const slices = timeSlices();
    for (const object of this.#scopes.list()) {
      if (slices.isExceeded) await slices.yield();
      const scope = scopeInForce(object);
      if (scope === undefined || object.metadata.deletionTimestamp !== undefined) continue;
      const resources = this.#resourcesHere(scope, object.spec);
      if (resources === 'unknown') continue;
      const objects = resources === undefined ? undefined : (await counts.of(scope, resources)).get(scope.value);
      const report = resources === undefined ? undefined : { name: this.#shardName, objects: objects ?? 0 };
      due.push({ key: textOf(apiExportScopes, object), resource: apiExportScopes, object, report });
    }
    return due;
  }

  async #dueOfSets(counts: ValueCounts): Promise<Due[]> {
    const due: Due[] = [];
    const slices = timeSlices();
    for (const object of this.#sets.list()) {
      if (slices.isExceeded) await slices.yield();
      const set = occurringSet(object);
      if (set === undefined || object.metadata.deletionTimestamp !== undefined) continue;
      const resources = this.#resourcesHere(set, object.spec?.template);
      if (resources === 'unknown') continue;
      const occurring = resources === undefined ? [] : [...(await counts.of(set, resources)).keys()];
      // One more than the limit shows that it is exceeded.
      const values = occurring.sort().slice(0, set.limit + 1);
      const report = values.length === 0 ? undefined : { name: this.#shardName, values };
      due.push({ key: textOf(apiExportScopeSets, object), resource: apiExportScopeSets, object, report });
    }
    return due;
  }

  /** The resources of an export that belong to a policy; undefined if it has no consumers here, 'unknown' before all are known. */
  #resourcesHere(
    { exportCluster, exportName, key }: Pick<OccurringSet, 'exportCluster' | 'exportName' | 'key'>,
    policy: Parameters<typeof policyHasResource>[0],
  ): readonly GroupResource[] | undefined | 'unknown' {
    const { byExport } = this.#modules;
    const cluster = exportCluster as LogicalClusterName;
    const object = this.#exports.get({ cluster, namespace: '', name: exportName });
    if (object === undefined) return 'unknown';
    if (byExport.of(object, referenceOfExport(object)).size === 0) return byExport.hasSynced ? undefined : 'unknown';
    return (object.spec?.resources ?? [])
      .filter((resource) => this.#selectability.divides(object, resource, key))
      .map(({ group = '', name }) => ({ group, resource: name }))
      .filter((resource) => policyHasResource(policy, resource));
  }

  async #write({ key, resource, object, report }: Due): Promise<void> {
    const { clientFor, logger } = this.#modules;
    const { apiVersion, kind } = object;
    const reference = referenceOf(key.slice(key.indexOf(' ') + 1));
    const status = report === undefined ? {} : { shards: [report] };
    const configuration = { apiVersion, kind, metadata: { name: reference.name }, status };
    const options = { subresource: 'status', fieldManager: this.#shardName, force: true };
    try {
      await clientFor(object).patch(resource, reference, 'application/apply-patch+yaml', configuration, options);
    } catch (error) {
      // An object of another shard may be deleted before its cached object is. Others must not wait for a shard that is down.
      if (!isStatusError(error, 'NotFound')) logger.warn('failed to report to a scope', { key, error });
    }
  }
}

/** The counts of one pass: one count serves all scopes of a key with the same resources. */
class ValueCounts {
  readonly #objects: ScopedObjects;
  readonly #counts = new Map<string, Promise<ReadonlyMap<string, number>>>();

  constructor(objects: ScopedObjects) {
    this.#objects = objects;
  }

  of(
    { identityHash, key }: { readonly identityHash: string; readonly key: string },
    resources: readonly GroupResource[],
  ): Promise<ReadonlyMap<string, number>> {
    const text = JSON.stringify([identityHash, key, resources]);
    let counted = this.#counts.get(text);
    if (counted === undefined)
      this.#counts.set(text, (counted = this.#objects.countByValue({ identityHash, key, resources })));
    return counted;
  }
}

/** Resource and reference. */
function textOf({ resource }: GroupVersionResource, { metadata }: DeepReadonly<KubeObject>): string {
  const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
  return `${resource} ${keyOf({ cluster, namespace: '', name: metadata.name ?? '' })}`;
}
