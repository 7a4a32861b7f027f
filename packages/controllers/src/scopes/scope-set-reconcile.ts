import {
  deepEqual,
  errorText,
  hexSha256,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExportScopes,
  apiExportScopeSets,
  isFieldKey,
  scopeSelector,
  scopeSetKey,
  scopesApiVersion,
  shownKey,
  type APIExportScope,
  type APIExportScopeSet,
} from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import { ExportFinder } from '../apis/export-finder.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus, withChanges } from '../runtime/object-writes.ts';
import { shards } from '../sharding/kinds.ts';
import { recordConditionEvents } from './condition-events.ts';
import { FieldSelectability } from './field-selectability.ts';
import { findScopeExport } from './scope-export-condition.ts';
import type { ScopeControllerModules } from './scope-reconcile.ts';
import { reportsOfPresentShards } from './shard-reports.ts';

type Status = NonNullable<APIExportScopeSet['status']>;

/** One pass over one APIExportScopeSet. */
export class ScopeSetReconciler {
  readonly #modules: ScopeControllerModules;
  readonly #sets: Lister<APIExportScopeSet>;
  readonly #scopes: Lister<APIExportScope>;
  readonly #shards: Lister;
  readonly #finder: ExportFinder;
  readonly #selectability: FieldSelectability;
  readonly #events: EventRecorder;

  constructor(modules: ScopeControllerModules & { readonly requeue: (key: string) => void }) {
    this.#modules = modules;
    this.#sets = modules.informers.informer<APIExportScopeSet>(apiExportScopeSets);
    this.#scopes = modules.informers.informer<APIExportScope>(apiExportScopes);
    this.#shards = modules.globalInformers.informer(shards);
    this.#finder = new ExportFinder(modules);
    this.#selectability = new FieldSelectability(modules);
    this.#events = new EventRecorder({ component: 'apiexportscopeset-controller', counts: true }, modules);
  }

  async reconcile(queued: string): Promise<void> {
    const reference = referenceOf(queued);
    const { cluster } = reference;
    const set = this.#sets.get(reference);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const found = findScopeExport(this.#finder, set.spec?.export ?? {}, reference, set.status?.exportCluster);
    if (found === undefined) return;
    const { values, isLimited } = this.#wantedValues(set, cluster);
    const problem = await this.#syncScopes(set, cluster, values);
    const exportCluster = set.status?.exportCluster ?? found.cluster;
    const identityHash = found.identityHash ?? set.status?.identityHash;
    const now = new Date(this.#modules.clock.now());
    const key = scopeSetKey(set);
    const selectable =
      found.object === undefined ? undefined : this.#selectability.condition(found.object, set.spec?.template, key);
    const conditions = [
      found.condition,
      ...(selectable === undefined ? [] : [selectable]),
      readiness(set, problem, isLimited),
    ].reduce(
      (list, condition) => setKcpCondition(list, condition, now),
      set.status?.conditions as Status['conditions'],
    );
    const status: Status = {
      ...(exportCluster === undefined ? {} : { exportCluster }),
      ...(identityHash === undefined ? {} : { identityHash }),
      ...(key === undefined ? {} : { key: shownKey(key) }),
      count: values.length,
      ...reportsOfPresentShards<{ name: string; values: string[] }>(set.status?.shards, this.#shards),
      ...(conditions === undefined ? {} : { conditions }),
    };
    await recordConditionEvents(this.#events, cluster, set, set.status?.conditions, conditions);
    await updateStatus(this.#modules.client, apiExportScopeSets, cluster, set, status as unknown as JsonObject);
  }

  /**
   * The listed values; or those that occur on any shard and those that have a scope already: a scope is not deleted when its
   * last object is, since its provider keeps its endpoint. Existing scopes come first where the limit does not suffice.
   */
  #wantedValues(
    set: DeepReadonly<APIExportScopeSet>,
    cluster: LogicalClusterName,
  ): { readonly values: readonly string[]; readonly isLimited: boolean } {
    const { values, occurring } = set.spec ?? {};
    if (occurring === undefined) return { values: values ?? [], isLimited: false };
    const existing = this.#owned(set, cluster).map((scope) => scopeSelector(scope)?.value ?? '');
    const reported = (set.status?.shards ?? []).flatMap((report) => report.values);
    const all = [...new Set([...existing.sort(), ...reported.sort()])];
    return { values: all.slice(0, occurring.limit), isLimited: all.length > occurring.limit };
  }

  #owned(set: DeepReadonly<APIExportScopeSet>, cluster: LogicalClusterName): DeepReadonly<APIExportScope>[] {
    return this.#scopes.list({ cluster }).filter((scope) => isOwned(scope, set));
  }

  /** Returns why a scope could not be created. */
  async #syncScopes(
    set: DeepReadonly<APIExportScopeSet>,
    cluster: LogicalClusterName,
    values: readonly string[],
  ): Promise<string | undefined> {
    const { client } = this.#modules;
    const missing = new Map(values.map((value) => [value, scopeOf(set, value)]));
    for (const scope of this.#owned(set, cluster)) {
      const value = scopeSelector(scope)?.value ?? '';
      const wanted = missing.get(value);
      missing.delete(value);
      if (wanted !== undefined && scope.metadata.name === wanted.metadata.name) {
        if (deepEqual(scope.spec ?? null, (wanted.spec ?? null) as Json)) continue;
        await client.update(apiExportScopes, cluster, withChanges(scope, { spec: wanted.spec }));
        continue;
      }
      const name = scope.metadata.name ?? '';
      await ignoreReasons(['NotFound'], () => client.delete(apiExportScopes, { cluster, namespace: '', name }));
    }
    let problem: string | undefined;
    for (const scope of missing.values()) {
      try {
        await client.create(apiExportScopes, cluster, scope);
      } catch (error) {
        // The informer may not show yet what an earlier pass created.
        const { name = '' } = scope.metadata;
        const existing = this.#scopes.get({ cluster, namespace: '', name });
        if (existing === undefined || !isOwned(existing, set)) problem ??= errorText(error);
      }
    }
    return problem;
  }
}

function readiness(
  { spec }: DeepReadonly<APIExportScopeSet>,
  problem: string | undefined,
  isLimited: boolean,
): NewKcpCondition {
  const notReady = { type: 'ScopesReady', status: 'False', severity: 'Error' } as const;
  if (problem !== undefined) return { ...notReady, reason: 'ErrorCreatingScopes', message: problem };
  if (isLimited)
    return {
      ...notReady,
      reason: 'LimitExceeded',
      message: `more than ${spec?.occurring?.limit ?? 0} values occur; raise spec.occurring.limit, or delete scopes whose values do not occur any more`,
    };
  return { type: 'ScopesReady', status: 'True' };
}

const isOwned = ({ metadata }: DeepReadonly<APIExportScope>, set: DeepReadonly<APIExportScopeSet>): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true;

function scopeOf(set: DeepReadonly<APIExportScopeSet>, value: string): APIExportScope {
  const { metadata, spec } = set;
  const { name = '', uid = '' } = metadata;
  const key = scopeSetKey(set) ?? '';
  const matched = { [shownKey(key)]: value };
  const owner = {
    apiVersion: scopesApiVersion,
    kind: 'APIExportScopeSet',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion: scopesApiVersion,
    kind: 'APIExportScope',
    metadata: { name: scopeName(name, value), ownerReferences: [owner] },
    spec: {
      ...(spec?.template as APIExportScope['spec']),
      export: { ...(spec?.export ?? { name: '' }) },
      selector: isFieldKey(key) ? { matchFields: matched } : { matchLabels: matched },
    },
  };
}

/** `<set>-<value>`, so that RBAC can name the scope before it exists; a value that is no DNS label is replaced by its hash. */
const scopeName = (set: string, value: string): string =>
  `${set}-${/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value) ? value : hexSha256(value).slice(0, 10)}`;
